"""Sessions and profiles: what is said, and what is known about the person who says it."""

from collections.abc import Mapping, Sequence
from typing import Any

from recollect.domain import ids, times
from recollect.domain.drafts import check_json
from recollect.domain.errors import NotFound, ValidationError
from recollect.domain.limits import (
    INTEGER_MAX,
    LIST_LIMIT_MAX,
    METADATA_BYTES_MAX,
    PROFILE_BYTES_MAX,
    whole,
)
from recollect.domain.operations import OpenSession, WriteProfile
from recollect.domain.queries import Scan, View
from recollect.domain.records import MemoryRecord, Profile, SessionRecord, Status
from recollect.domain.requests import Because
from recollect.domain.scopes import Scope, check_name
from recollect.engine.safeguarding import Safeguarding
from recollect.ports.backend import ProfileMode

NOBODY = Because()
#: Categories that every profile has.
CATEGORIES = ("personal_info", "areas_to_improve", "knowledge_strengths")


class Conversing(Safeguarding):
    """Sessions, their messages, and profiles."""

    async def open_session(
        self,
        scope: Scope,
        id: str | None,
        kind: str,
        metadata: Mapping[str, Any],
        expires_at: Any,
    ) -> SessionRecord:
        """Begin a session, or come back to it."""
        check_name(kind, field="kind")
        data = check_json(metadata, field="metadata", bytes_max=METADATA_BYTES_MAX)
        until = None if expires_at is None else times.parse(expires_at, field="expires_at")
        name = self._new_id(ids.SESSION) if id is None else check_name(id, field="session")
        place = scope.narrowed(session=name).home
        now = self._clock.now()
        if until is not None and until <= now and await self._store.session(place, name) is None:
            raise ValidationError("expires_at has passed already", field="expires_at")
        op = OpenSession(self._stamp("session", NOBODY), place, name, kind, data, until)
        session: SessionRecord = (await self._store.apply([op]))[0]
        if session.expires_at is not None and session.expires_at <= times.show(now):
            raise NotFound(f"the session {name!r} expired at {times.iso(session.expires_at)}")
        return session

    async def sessions(self, scope: Scope) -> list[SessionRecord]:
        """All sessions of the scope's place, newest first."""
        return await self._store.sessions(scope.home)

    async def messages(self, scope: Scope, session: str, *, last: int | None) -> list[MemoryRecord]:
        """The messages of a session in the order they were said: all of them, or the last few."""
        if last is not None:
            whole(last, 1, LIST_LIMIT_MAX, field="last")
        view = View(
            places=(scope.home,),
            now=self._clock.now(),
            session=session,
            statuses=(Status.ACTIVE.value, Status.SUPERSEDED.value, Status.ARCHIVED.value),
        )
        newest: list[MemoryRecord] = []
        cursor: str | None = None
        while last is None or len(newest) < last:
            wanted = LIST_LIMIT_MAX if last is None else last - len(newest)
            scan = Scan(view, wanted, sort="position", cursor=cursor)
            page = await self._store.scan(scan)
            newest += [message for message in page.items if message.position is not None]
            cursor = page.cursor
            if cursor is None:
                break
        return newest[::-1]

    async def write_profile(
        self,
        scope: Scope,
        category: str,
        mode: ProfileMode,
        data: Mapping[str, Any] | Sequence[str],
        because: Because,
        *,
        if_version: int | None,
    ) -> Profile:
        """Change one category of the profile."""
        check_name(category, field="category")
        if if_version is not None:
            whole(if_version, 0, INTEGER_MAX, field="if_version")
        path: tuple[str, ...] = ()
        document: dict[str, Any] = {}
        if mode == "remove":
            path = tuple(check_name(part, field="path") for part in data)
            if not path:
                raise ValidationError("name the key to remove", field="path")
        elif mode != "clear":
            document = check_json(data, field=category, bytes_max=PROFILE_BYTES_MAX)
            document, _ = self._content.treat_data(document)
        stamp = self._stamp(f"{mode} profile", because)
        op = WriteProfile(stamp, scope.home, category, mode, document, path, if_version)
        return (await self._store.apply([op]))[0]

    async def profile(self, scope: Scope, category: str) -> Profile:
        """One category of the profile; an empty one when nothing was written yet."""
        check_name(category, field="category")
        return (await self.profiles(scope)).get(category, Profile(category, {}, 0, None))

    async def profiles(self, scope: Scope) -> dict[str, Profile]:
        """All categories: the ones every profile has, and those that were written."""
        found = {category: Profile(category, {}, 0, None) for category in CATEGORIES}
        found.update({one.category: one for one in await self._store.profiles(scope.home)})
        return found

    async def past_profiles(self, scope: Scope, category: str) -> list[Profile]:
        """Every version of a category, oldest first, the present one last."""
        check_name(category, field="category")
        return await self._store.past_profiles(scope.home, category)
