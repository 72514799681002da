"""A provider of models on this machine that follows a script: real requests, no network.

It speaks as OpenAI (chats and embeddings), Anthropic and Gemini do, whole and in pieces, so that
the code that reaches the real ones runs in tests, and it fails in every way that one can name.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, cast

from recollect.domain.clients import ModelClient, client_of
from recollect.ports.chat import ToolCall
from recollect.testing.faults import FAULTS, Wire
from recollect.testing.speaking import SPEAKERS, Speaker, vector_of

Line = str | dict[str, Any] | list[Any] | ToolCall
"""What the provider says: a text, JSON as a text, or a call of a tool."""

KEY = "test-key"


@dataclass(frozen=True, slots=True)
class Fault:
    """A request that goes wrong; the kinds are in `recollect.testing.faults`."""

    kind: str


@dataclass(frozen=True, slots=True)
class Heard:
    """A request as it came over the wire."""

    path: str
    headers: dict[str, str]
    body: Any


class ScriptedProvider:
    """Says its lines in order, then what `then` makes of each request; keeps what it heard.

    A line is a text, JSON, a tool call, or a `Fault`. Texts to embed are not in the script: each
    gets a vector of its words, unless `failing` names a fault.

    >>> with ScriptedProvider("Hello.") as provider:
    ...     chat = RemoteChat(provider.client("openai"), environment=provider.environment)
    """

    def __init__(
        self,
        *lines: Line | Fault,
        then: Callable[[Heard], Line | Fault] | None = None,
        dimensions: int = 8,
        key: str = KEY,
    ) -> None:
        self.heard: list[Heard] = []
        self.failing: str | None = None  #: the fault that every request meets, if any
        self.dimensions = dimensions
        self.key = key
        self._lines = list(lines)
        self._then = then
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.provider = self
        self._thread = threading.Thread(target=self._serve, name="scripted-provider", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        self._server.serve_forever(poll_interval=0.01)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of everybody who still waits, and of the port."""
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment that holds the key."""
        return {"SCRIPTED_KEY": self.key}

    def client(self, provider: str = "openai", **said: Any) -> ModelClient:
        """How one of its models is reached, as a client of some provider."""
        usual = {"label": provider, "provider": provider, "model": "scripted-1"}
        base = f"{self.url}/v1" if provider not in ("anthropic", "gemini") else self.url
        return client_of({**usual, "base_url": base, "key_env": "SCRIPTED_KEY", **said})

    # -- called by the threads that serve ----------------------------------------------------------

    def line(self, heard: Heard) -> Line | Fault:
        """What is said to a request."""
        with self._lock:
            self.heard.append(heard)
            if self.failing is not None:
                return Fault(self.failing)
            if heard.path.endswith("/embeddings"):
                return ""
            if self._lines:
                return self._lines.pop(0)
        if self._then is None:
            return Fault("server error")
        return self._then(heard)

    def wait(self) -> None:
        """Hang until the provider is closed."""
        self._ended.wait()

    def embeddings(self, body: Any) -> dict[str, Any]:
        """Vectors for texts, as OpenAI answers them."""
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        data = [
            {"object": "embedding", "index": index, "embedding": vector_of(text, self.dimensions)}
            for index, text in enumerate(texts)
        ]
        tokens = sum(len(text) // 4 for text in texts)
        return {
            "object": "list",
            "model": body["model"],
            "data": data,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    provider: ScriptedProvider

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked went away; that is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """One request."""
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        heard = Heard(self.path, headers, json.loads(raw))
        provider = cast(_Server, self.server).provider
        line = provider.line(heard)
        embeds = self.path.endswith("/embeddings")
        if isinstance(line, Fault):
            good = provider.embeddings(heard.body) if embeds else None
            FAULTS[line.kind](Wire(self.connection, provider.wait, good, self.path))
            self.close_connection = True
            return
        if embeds:
            self._send("application/json", json.dumps(provider.embeddings(heard.body)))
            return
        speaker = next(one for path, one in SPEAKERS.items() if path in self.path)
        self._speak(speaker, heard, line)

    def _speak(self, speaker: Speaker, heard: Heard, line: Line) -> None:
        said = line if isinstance(line, str | ToolCall) else json.dumps(line)
        if speaker.streams(heard.path, heard.body):
            events = speaker.pieces(said, heard.body)
            text = "".join(f"{event}\n\n" for event in events)
            self._send("text/event-stream", text)
        else:
            self._send("application/json", json.dumps(speaker.whole(said, heard.body)))

    def _send(self, kind: str, text: str) -> None:
        raw = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
