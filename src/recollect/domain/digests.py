"""Digests: what an event remembers of a content without holding it, and how events are chained.

A digest is keyed with the event's own salt. Erasing a memory erases the salts too, so that the
digests that stay behind cannot be tried against guesses.
"""

import json
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any
from zlib import crc32

from recollect.domain.records import JsonObject, compact

SIZE = 16


def of_packed(packed: Sequence[Any], salt: bytes) -> bytes:
    """The digest of a packed record."""
    return blake2b(compact(packed).encode(), digest_size=SIZE, key=salt).digest()


def of_data(data: JsonObject, salt: bytes) -> bytes:
    """The digest of a JSON document, whatever the order of its keys."""
    line = json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return blake2b(line.encode(), digest_size=SIZE, key=salt).digest()


def of_name(name: str) -> bytes:
    """The digest under which a tombstone knows an erased name."""
    return blake2b(name.encode(), digest_size=SIZE, person=b"tombstone").digest()


def chain(previous: bytes, rows: Iterable[bytes]) -> bytes:
    """The seal over some events: a hash over the seal before and each event's fixed part."""
    hasher = blake2b(previous, digest_size=32)
    for row in rows:
        hasher.update(len(row).to_bytes(4, "little"))
        hasher.update(row)
    return hasher.digest()


def checksum(*values: Any) -> int:
    """A checksum over a row's values, to notice a flipped byte in tables that have no events."""
    total = 0
    for value in values:
        total = crc32(value if isinstance(value, bytes) else repr(value).encode(), total ^ 1)
    return total
