"""Every error Recollect raises, in one tree.

RecollectError
├── ValidationError            what was asked cannot be understood (names the field and the value)
│   ├── UnknownFilter          a filter names a field or an operator that does not exist
│   ├── InvalidCursor          a cursor that this store did not hand out
│   ├── PayloadTooLarge        over a limit of `domain.limits`
│   └── ContentRefused         it holds what the content policy refuses; never quoted
├── PermissionDenied           who is asking may not do this
├── NotFound                   nothing with that id in this scope (the same for foreign ids)
├── ConflictError              the thing changed or already exists
│   ├── VersionMismatch        `if_version` does not match
│   ├── IdempotencyMismatch    the same key with another body
│   └── LeaseLost              the job was claimed by somebody else meanwhile
├── StorageError               the store cannot do it
│   ├── StorageUnavailable     it did not answer; safe to retry
│   ├── StorageFull            no space left; reads still work
│   └── StorageCorrupt         what was read is not what was written
├── SchemaError                the store was written by a newer version
├── ProviderError              an embedding or model provider failed or could not be reached
│   ├── ProviderTimeout        it took longer than the deadline
│   ├── ProviderBadResponse    it answered something that cannot be used
│   ├── ProviderAuth           it does not accept the key
│   └── ProviderRejected       it refuses this request: too long, against its policy, no such model
├── BudgetExceeded             the money for model calls is spent
├── MissingExtra               an optional package is not installed
├── SettingsError              a setting is unknown or has a bad value
├── Abandoned                  whoever ran a job was killed, time and again
├── ClosedError                the store was closed
└── InternalError              a defect in Recollect: please report it

Every class states its `code` (the slug used by REST, MCP, CLI and logs), its `http_status`,
and whether the same call may be tried again (`retryable`). Messages say what, which value,
and what to do.
"""

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:  # the front door loads this module, and should load little else
    from collections.abc import Sequence

    from recollect.domain.usage import Usage


def shown(value: object) -> str:
    """A value as messages quote it: short, and safe whatever it is."""
    try:
        return f"{value!r:.80}"
    except (ValueError, RecursionError):  # endless integers, endless nesting
        return f"a {type(value).__name__} too large to show"


class RecollectError(Exception):
    """Anything that Recollect reports as an error."""

    code: ClassVar[str] = "error"
    http_status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False


class ValidationError(RecollectError):
    """The request cannot be understood; nothing was stored."""

    code, http_status = "invalid-request", 422

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class ContentRefused(ValidationError):
    """A text holds what the content policy refuses, or asks not to be remembered."""

    code, http_status = "content-refused", 422

    def __init__(self, message: str) -> None:
        super().__init__(message, field="text")


class UnknownFilter(ValidationError):
    """A filter names a field or an operator that does not exist."""

    code, http_status = "unknown-filter", 422


class InvalidCursor(ValidationError):
    """The cursor was not handed out for this listing."""

    code, http_status = "invalid-cursor", 400


class PayloadTooLarge(ValidationError):
    """Something is over a limit; the message names the limit."""

    code, http_status = "payload-too-large", 413


class PermissionDenied(RecollectError):
    """The caller is known and may not do this."""

    code, http_status = "forbidden", 403


class NotFound(RecollectError):
    """Nothing with that id exists in this scope."""

    code, http_status = "not-found", 404


class ConflictError(RecollectError):
    """It changed in the meantime or already exists; read it again, then decide."""

    code, http_status = "conflict", 409


class VersionMismatch(ConflictError):
    """`if_version` is not the version that is stored."""

    code, http_status = "version-mismatch", 412


class IdempotencyMismatch(ConflictError):
    """The key was used before for another body."""

    code, http_status = "idempotency-mismatch", 422


class AgentExists(ConflictError, ValueError):
    """An agent of this name is there already."""

    code, http_status = "agent-exists", 409


class LeaseLost(ConflictError):
    """The job's lease ran out and somebody else claimed it; nothing of this try was kept."""

    code, http_status = "lease-lost", 409


class StorageError(RecollectError):
    """The store could not do what was asked."""

    code, http_status = "storage-error", 500


class StorageUnavailable(StorageError):
    """The store did not answer. Safe to retry with the same key."""

    code, http_status, retryable = "storage-unavailable", 503, True


class StorageFull(StorageError):
    """No space is left. Nothing was stored; reads work, and writes will when there is room."""

    code, http_status = "storage-full", 507


class StorageCorrupt(StorageError):
    """The store holds something that was not written by Recollect; restore a backup."""

    code, http_status = "storage-corrupt", 500


class SchemaError(StorageError):
    """The store was written by a newer Recollect; it was not touched."""

    code, http_status = "schema-too-new", 500


class ProviderError(RecollectError):
    """An embedding or model provider failed or gave an unusable answer."""

    code, http_status, retryable = "provider-unavailable", 503, True

    def __init__(
        self, message: str, *, retry_after_s: float | None = None, spent: "Sequence[Usage]" = ()
    ) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s  #: when the provider says that it may be asked again
        self.spent = tuple(spent)  #: what was used up all the same


class ProviderTimeout(ProviderError):
    """The provider did not answer before the deadline."""

    code, http_status, retryable = "provider-timeout", 504, True


class ProviderBadResponse(ProviderError):
    """The provider answered something that cannot be used; nothing of it was stored."""

    code, http_status, retryable = "provider-bad-response", 502, True


class ProviderAuth(ProviderError):
    """The provider does not accept the key, or there is none; look at the environment variable."""

    code, http_status, retryable = "provider-auth", 502, False


class ProviderRejected(ProviderError):
    """The provider refuses this request and will again: too long, its policy, no such model."""

    code, http_status, retryable = "provider-rejected", 422, False


class BudgetExceeded(RecollectError):
    """The money set aside for model calls is spent; what works without a model still does."""

    code, http_status = "budget-exceeded", 402


class MissingExtra(RecollectError):
    """An optional package is needed; the message names the extra to install."""

    code, http_status = "missing-extra", 500


class SettingsError(RecollectError):
    """A setting is unknown or its value cannot be used."""

    code, http_status = "invalid-settings", 500


class Abandoned(RecollectError):
    """Whoever ran this job was killed each time, perhaps by the job; it was given up."""

    code, http_status = "abandoned", 500


class ClosedError(RecollectError):
    """The store was closed; open it again."""

    code, http_status = "closed", 503


class InternalError(RecollectError):
    """A defect in Recollect itself."""

    code, http_status = "internal", 500
