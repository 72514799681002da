"""Opening: from a URL to a backend and the scope that its first handle has."""

from typing import TYPE_CHECKING, Any

from recollect.domain.errors import ValidationError
from recollect.domain.scopes import Scope

if TYPE_CHECKING:
    from recollect.ports.backend import Backend


def open_backend(url: object, *, threaded: bool, **options: Any) -> "tuple[Backend, Scope]":
    """A backend for a file, loaded only now, and the scope of the local user."""
    if not isinstance(url, str) or not url.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValidationError(f"the path or URL of the memory is missing: {url!r}", field="url")
    from recollect import wiring

    engine = wiring.open_engine(url, threaded=threaded, **options)
    return engine, Scope()
