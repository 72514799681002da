"""The ways in which a provider fails, 29 of them, each as bytes on a wire.

What hangs, hangs until the provider of the test is closed: a client has to give up by itself.
"""

import json
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: Longer than a client of a test is told to accept.
TOO_LONG = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Wire:
    """A connection on which a request came and nothing was answered yet."""

    socket: socket.socket
    wait: Callable[[], None]
    vectors: dict[str, Any] | None  #: the good answer to texts to embed
    path: str

    def send(self, raw: bytes) -> None:
        """Some bytes."""
        self.socket.sendall(raw)

    def answer(self, status: int, body: bytes, *headers: str, kind: str = "json") -> None:
        """A whole answer."""
        lines = [
            f"HTTP/1.1 {status} Whatever",
            f"Content-Type: application/{kind}",
            f"Content-Length: {len(body)}",
            "Connection: close",
            *headers,
        ]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def reset(self) -> None:
        """Cut the connection hard."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    @property
    def good(self) -> dict[str, Any]:
        """A good answer to what was asked."""
        if self.vectors is not None:
            return json.loads(json.dumps(self.vectors))
        message = {"role": "assistant", "content": '{"facts": [], "text": "fine"}'}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        head = {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted-1"}
        return {**head, "choices": [choice], "usage": usage}


def _status(status: int, *headers: str) -> Callable[[Wire], None]:
    body = json.dumps({"error": {"message": "no", "type": "fault", "code": str(status)}}).encode()
    return lambda wire: wire.answer(status, body, *headers)


def _hang(wire: Wire) -> None:
    wire.wait()


def _hang_after_headers(wire: Wire) -> None:
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{")
    wire.wait()


def _drip(wire: Wire) -> None:
    """A chunk that never ends, in pieces: no single wait is long, the whole is."""
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
    wire.send(b"Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(20):
        wire.send(b"1\r\n \r\n")
    wire.wait()


def _cut_short(wire: Wire) -> None:
    body = json.dumps(wire.good).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    wire.send(head.encode() + b"\r\n\r\n" + body[: len(body) // 2])


def _reset_midway(wire: Wire) -> None:
    _cut_short(wire)
    wire.reset()


def _endless(wire: Wire) -> None:
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[")
    for _ in range(TOO_LONG // 65_536 + 1):
        wire.send(b"1," * 32_768)


def _packed(wire: Wire) -> None:
    wire.answer(200, json.dumps(wire.good).encode(), "Content-Encoding: gzip")


def _with(change: Callable[[dict[str, Any]], Any]) -> Callable[[Wire], None]:
    """A good answer in which something is wrong."""

    def fault(wire: Wire) -> None:
        good = wire.good
        changed = change(good)
        wire.answer(200, json.dumps(good if changed is None else changed).encode())

    return fault


def _say(good: dict[str, Any], value: Any) -> None:
    """Another vector, or other words, in the place of the good ones."""
    if "data" in good:
        good["data"][0]["embedding"] = value
    else:
        good["choices"][0]["message"]["content"] = value


def _fewer(good: dict[str, Any]) -> None:
    good["data" if "data" in good else "choices"].pop()


def _nothing_at_all(good: dict[str, Any]) -> Any:
    return {"object": good["object"], "model": good["model"]}


def _other_size(good: dict[str, Any]) -> None:
    """Vectors of another dimension than before; of a chat, half of an object."""
    for one in good.get("data", ()):
        one["embedding"] = [*one["embedding"], 1.0]
    if "choices" in good:
        _say(good, '{"facts": [{"text": "half an obj')


def _numbers(value: float) -> Callable[[Wire], None]:
    """Numbers that are none; of a chat, JSON that holds them."""

    def change(good: dict[str, Any]) -> None:
        if "data" in good:
            good["data"][-1]["embedding"][0] = value
        else:
            _say(good, f'{{"facts": [{value}]}}')

    return _with(change)


#: The 29 kinds.
FAULTS: Mapping[str, Callable[[Wire], None]] = {
    "reset": lambda wire: wire.reset(),
    "hang": _hang,
    "hang after the headers": _hang_after_headers,
    "drip": _drip,
    "cut short": _cut_short,
    "reset midway": _reset_midway,
    "no answer": lambda wire: wire.socket.shutdown(socket.SHUT_RDWR),
    "no HTTP": lambda wire: wire.send(b"220 mail.example ESMTP ready\r\n"),
    "endless": _endless,
    "packed": _packed,
    "redirect": lambda wire: wire.answer(307, b"", f"Location: {wire.path}/elsewhere"),
    "bad request": _status(400),
    "key refused": _status(401),
    "forbidden": _status(403),
    "no such model": _status(404),
    "too large": _status(413),
    "rate limited": _status(429, "Retry-After: 3600"),
    "server error": _status(500),
    "bad gateway": lambda wire: wire.answer(502, b"<html>Bad Gateway</html>", kind="html"),
    "overloaded": _status(529),
    "empty body": lambda wire: wire.answer(200, b""),
    "a page": lambda wire: wire.answer(200, b"<html>Welcome</html>", kind="html"),
    "not UTF-8": lambda wire: wire.answer(200, b'{"data": "\xff\xfe'),
    "nested": lambda wire: wire.answer(200, b"[" * 100_000),
    "nothing in it": _with(_nothing_at_all),
    "fewer": _with(_fewer),
    "of another kind": _with(lambda good: _say(good, {"surprise": True})),
    "another size": _with(_other_size),
    "not a number": _numbers(float("nan")),
}
