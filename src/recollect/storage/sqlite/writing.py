"""What each operation does to the tables, inside a transaction that somebody else commits."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import apsw

from recollect.domain import consolidation, digests, merging, operations, reinforcing, times
from recollect.domain.errors import (
    ConflictError,
    IdempotencyMismatch,
    InternalError,
    NotFound,
    ValidationError,
    VersionMismatch,
)
from recollect.domain.limits import (
    PROFILE_BYTES_MAX,
    SPACES_MAX,
    TREE_DEPTH_MAX,
    at_most,
)
from recollect.domain.records import (
    Group,
    JsonObject,
    MemoryRecord,
    Packed,
    Profile,
    SessionRecord,
    compact,
    pack,
)
from recollect.domain.sameness import repeats, strengthened
from recollect.domain.scopes import Place
from recollect.storage.sqlite import rows, segments
from recollect.storage.sqlite.segments import Indexed
from recollect.storage.sqlite.sql import Row, first, query, run, run_many, scalar


@dataclass(slots=True)
class Transaction:
    """One transaction's connection, and what it has looked up so far."""

    connection: apsw.Connection
    place_numbers: dict[Place, int] = field(default_factory=dict[Place, int])
    positions: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])
    spaces: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    entries: dict[int, list[Indexed]] = field(default_factory=dict[int, list[Indexed]])
    codes: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    wanted: Mapping[Place, Sequence[int]] = field(default_factory=dict[Place, Sequence[int]])
    last_row: int | None = None
    _marked: dict[int, dict[int, list[int]]] = field(
        default_factory=dict[int, dict[int, list[int]]]
    )
    _later: dict[str, list[tuple[Any, ...]]] = field(
        default_factory=dict[str, list[tuple[Any, ...]]]
    )

    def run(self, name: str, *values: Any) -> None:
        """Execute a statement for its effect."""
        self.flush()
        run(self.connection, name, *values)

    def later(self, name: str, *values: Any) -> None:
        """Insert a row before the next statement that could see it, together with its like."""
        self._later.setdefault(name, []).append(values)

    def flush(self) -> None:
        """Insert what waits."""
        if self._later:
            try:
                for name, rows_of_it in self._later.items():
                    run_many(self.connection, name, rows_of_it)
            except apsw.ConstraintError as exc:
                raise ConflictError("what is to be stored has an id that exists already") from exc
            self._later.clear()

    def mark(self) -> dict[int, list[Indexed]]:
        """Remember where we are, for `back_to`."""
        self.flush()
        self.connection.execute("SAVEPOINT mark")
        return {place: list(entries) for place, entries in self.entries.items()}

    def back_to(self, mark: dict[int, list[Indexed]]) -> None:
        """Undo what was done since a mark."""
        self._later.clear()
        self.connection.execute("ROLLBACK TO mark")
        self.entries = mark
        self.place_numbers.clear()
        self.positions.clear()
        self.spaces.clear()
        self._marked.clear()

    def query(self, name: str, *values: Any) -> list[Row]:
        """All rows that a statement answers."""
        self.flush()
        return query(self.connection, name, *values)

    def first(self, name: str, *values: Any) -> Row | None:
        """The first row that a statement answers."""
        self.flush()
        return first(self.connection, name, *values)

    def scalar(self, name: str, *values: Any) -> Any:
        """The first value that a statement answers."""
        self.flush()
        return scalar(self.connection, name, *values)

    def new_row(self) -> int:
        """The number of the next memory; numbers are never used again."""
        if self.last_row is None:
            self.last_row = int(self.scalar("last_row"))
        self.last_row += 1
        return self.last_row

    def place(self, place: Place) -> int:
        """The number of a place, made if need be."""
        number = self.place_numbers.get(place)
        if number is None:
            number = self.place_numbers[place] = rows.make_place(self.connection, place)
        return number

    def marked(self, place: Place, mark: int) -> list[int]:
        """The rows of a place that bear a mark, newest first; asked once for a whole batch."""
        number = self.place(place)
        found = self._marked.get(number)
        if found is None:
            found = self._marked[number] = {}
            wanted = self.wanted.get(place, ())
            if len(wanted) == 1:
                rows_of_it = self.query("rows_marked", number, mark)
                found[mark] = [row for (row,) in rows_of_it]
            else:
                for one, row in self.query("rows_marked_any", number, rows.json_list(wanted)):
                    found.setdefault(one, []).append(row)
        return found.get(mark, [])

    def mark_row(self, place: int, row: int, marks: Sequence[int]) -> None:
        """Have a memory bear marks."""
        for mark in marks:
            self.later("insert_mark", place, mark, row, digests.checksum(mark, row))
            if place in self._marked:
                self._marked[place].setdefault(mark, []).insert(0, row)

    def space(self, name: str, dimensions: int) -> int:
        """The number of an embedding space; its dimension is fixed by its first vector."""
        number: int | None = self.spaces.get((name, dimensions))
        if number is None:
            row = self.first("space_id", name)
            if row is None:
                total = digests.checksum(name, dimensions)
                number = self.scalar("insert_space", name, dimensions, total)
            elif row[1] != dimensions:
                raise ValidationError(
                    f"the vector has {dimensions} dimensions, the space {name!r} has {row[1]}",
                    field="vector",
                )
            else:
                number = int(row[0])
            assert number is not None
            at_most(number, SPACES_MAX, name="SPACES_MAX", field="vector")
            self.spaces[(name, dimensions)] = number
        return number

    def event(
        self,
        stamp: operations.Stamp,
        place: int,
        what: str,
        about: int,
        *,
        version: int | None = None,
        before: bytes | None = None,
        after: bytes | None = None,
        detail: JsonObject | None = None,
    ) -> None:
        """Write down what happened. Actor and reason go where an erasure can empty them."""
        detail = detail or {}
        if stamp.actor is not None:
            detail["actor"] = stamp.actor
        if stamp.reason is not None:
            detail["reason"] = stamp.reason
        text = compact(detail) if detail else None
        digest = digests.of_data(detail, stamp.salt) if detail else None
        self.later(
            "insert_event",
            *(stamp.event, stamp.at, place, stamp.action, what, about, version),
            *(before, after, digest, stamp.salt, text),
        )


def execute(tx: Transaction, operation: operations.Operation) -> Any:
    """Carry out one operation and return its answer."""
    return _CARRIERS[type(operation)](tx, operation)


def remember(tx: Transaction, op: operations.Remember) -> MemoryRecord | operations.Repeated:
    """Store a new memory, or find the one that was stored under the same key or says the same."""
    place = tx.place(op.record.place)
    if op.once is not None:
        earlier = _replayed(tx, place, op)
        if earlier is not None:
            return earlier
    record = op.record
    if op.strengthen is not None:
        repeated = _repeated(tx, place, op, op.strengthen)
        if repeated is not None:
            return repeated
    if record.parent is not None:
        _require_parent(tx, record.id, record.parent, record.place)
    if record.item_key is not None:
        _require_free_key(tx, place, record, row=0)
    space = _space_of(tx, op.entry)
    # From here on nothing is refused any more, so that a batch needs no way back.
    record = _positioned(tx, place, record)
    packed = pack(record)
    row = tx.new_row()
    tx.later("insert_memory", row, place, *packed)
    put_entry(tx, place, row, op.entry, space)
    tx.event(
        op.stamp, place, "memory", row, version=1, after=digests.of_packed(packed, op.stamp.salt)
    )
    if op.once is not None:
        _keep_once(tx, place, op.once, row, op.stamp.at)
    return record


def _keep_once(tx: Transaction, place: int, once: operations.Once, row: int, at: int) -> None:
    values = (place, once.key, once.body, row, at)
    tx.later("insert_once", *values, digests.checksum(*values))


def _repeated(
    tx: Transaction, place: int, op: operations.Remember, factor: float
) -> operations.Repeated | None:
    """The memory that says the same already, strengthened."""
    for mark in op.entry.marks[:1]:
        for row in tx.marked(op.record.place, mark):
            old = read_row(tx, row)[1]
            if repeats(op.record, old):
                stamp = replace(op.stamp, action="reinforce")
                changes = strengthened(old, op.record, factor, op.stamp.at)
                new = alter(tx, operations.Alter(stamp, old.id, (old.place,), changes))
                if op.once is not None:
                    _keep_once(tx, place, op.once, row, op.stamp.at)
                return operations.Repeated(new)
    return None


def _replayed(tx: Transaction, place: int, op: operations.Remember) -> MemoryRecord | None:
    assert op.once is not None
    found = tx.first("get_once", place, op.once.key)
    if found is None:
        return None
    if found[0] != op.once.body:
        raise IdempotencyMismatch(
            f"the key {op.once.key!r} was used before for something else; use a new key"
        )
    return read_row(tx, found[1])[1]


def _positioned(tx: Transaction, place: int, record: MemoryRecord) -> MemoryRecord:
    """Messages get the next position in their session; imported ones keep theirs."""
    if record.session is None or record.role is None:
        return record
    key = (place, record.session)
    last = tx.positions.get(key)
    if record.position is not None:
        if last is not None:
            tx.positions[key] = max(last, record.position)
        return record
    if last is None:
        found = tx.scalar("last_position", place, record.session)
        last = -1 if found is None else found
    tx.positions[key] = last + 1
    return replace(record, position=last + 1)


def _require_parent(tx: Transaction, child: str, parent: str, place: Place) -> None:
    """The parent exists in the same place, and is not below its own child."""
    above: str | None = parent
    for _ in range(TREE_DEPTH_MAX):
        if above is None:
            return
        if above == child:
            raise ValidationError(
                f"{parent} lies below {child}: a memory cannot be its own ancestor", field="parent"
            )
        above = _find(tx, above, (place,), field="parent")[1].parent
    raise ValidationError(
        f"parents are nested deeper than TREE_DEPTH_MAX = {TREE_DEPTH_MAX}", field="parent"
    )


def _require_free_key(tx: Transaction, place: int, record: MemoryRecord, row: int) -> None:
    taken = tx.scalar("same_key", place, record.kind, record.item_key, row)
    if taken is not None:
        raise ConflictError(
            f"{record.kind} already has an item {record.item_key!r} ({taken}); change that one"
        )


def _space_of(tx: Transaction, entry: operations.Entry) -> int | None:
    """The number of the space that an entry's vector lies in."""
    if entry.vector is None or entry.space is None:
        return None
    return tx.space(entry.space, entry.dimensions)


def put_entry(
    tx: Transaction, place: int, row: int, entry: operations.Entry, space: int | None
) -> None:
    """Index a text, and keep its vectors if it came with some."""
    code: bytes | None = None
    if entry.vector is not None:
        code = tx.codes.get(entry.vector) or segments.coded(entry.vector, entry.dimensions)
        kept = (row, space, entry.vector)
        tx.later("insert_vector", *kept, digests.checksum(*kept))
    added = Indexed(row, entry.terms, space, code, entry.dimensions)
    tx.entries.setdefault(place, []).append(added)
    tx.mark_row(place, row, entry.marks)


def alter(tx: Transaction, op: operations.Alter) -> MemoryRecord:
    """Change fields of a memory and keep what they were."""
    row, old = _find(tx, op.id, op.places)
    for name, value in op.expect.items():
        if getattr(old, name) != value:
            error = VersionMismatch if name == "version" else ConflictError
            raise error(f"{op.id}: {name} is {getattr(old, name)!r}, not {value!r}; read it again")
    packed_old = pack(old)
    if pack(replace(old, **dict(op.changes))) == packed_old:
        return old
    place = tx.place(old.place)
    at = times.show(op.stamp.at)
    new = replace(old, **dict(op.changes), updated_at=at, version=old.version + 1)
    if new.parent != old.parent and new.parent is not None:
        _require_parent(tx, new.id, new.parent, new.place)
    if new.item_key is not None and (new.item_key, new.kind) != (old.item_key, old.kind):
        _require_free_key(tx, place, new, row)
    packed_new = pack(new)
    if new.superseded_by is not None and new.superseded_by != old.superseded_by:
        _find(tx, new.superseded_by, (new.place,), field="superseded_by")
    _keep_version(tx, place, row, old, packed_old, op.stamp.at)
    tx.run("update_memory", *packed_new, row)
    if op.entry is not None:
        # A vector of the words it had before says nothing about the words it has now.
        tx.run("delete_vectors", row)
        tx.run("delete_marks", place, row)
        put_entry(tx, place, row, op.entry, _space_of(tx, op.entry))
    tx.event(
        op.stamp,
        place,
        "memory",
        row,
        version=new.version,
        before=digests.of_packed(packed_old, op.stamp.salt),
        after=digests.of_packed(packed_new, op.stamp.salt),
        detail={"fields": sorted(op.changes)},
    )
    if consolidation.outdated_by(old, new):
        for (derived,) in tx.query("derived_from", rows.json_list([new.id])):
            made = read_row(tx, derived)[1]
            if consolidation.goes_along(made):
                alter(tx, consolidation.outdating(made, op))
    return new


def reinforce(tx: Transaction, op: operations.Reinforce) -> MemoryRecord:
    """Make a memory strong again, from what it is at this moment."""
    changes = reinforcing.reinforced(_find(tx, op.id, op.places)[1], op.factor, op.stamp.at)
    return alter(tx, operations.Alter(op.stamp, op.id, op.places, changes))


def _keep_version(
    tx: Transaction, place: int, row: int, old: MemoryRecord, packed: Packed, until: int
) -> None:
    values = (
        *("memory", row, old.version, place, times.to_micros(old.updated_at), until),
        compact(packed),
    )
    tx.run("insert_version", *values, digests.checksum(*values))


def read_row(tx: Transaction, row: int) -> tuple[int, MemoryRecord]:
    """The memory in a row; it must exist."""
    found = tx.first("memory_by_row", row)
    if found is None:
        raise InternalError(f"row {row} is referred to but does not exist; run `recollect verify`")
    place = rows.place_of(tx.connection, found[1])
    assert place is not None
    return found[0], rows.record_of(found, {found[1]: place})


def _find(
    tx: Transaction, id: str, places: Sequence[Place], *, field: str = "id"
) -> tuple[int, MemoryRecord]:
    """A memory by id, if it lies in one of the places."""
    found = tx.first("memory_by_id", id)
    if found is not None:
        place = rows.place_of(tx.connection, found[1])
        if place in places:
            assert place is not None
            return found[0], rows.record_of(found, {found[1]: place})
    raise NotFound(f"no memory {id} in this scope ({field})")


def set_link(tx: Transaction, op: operations.SetLink) -> bool:
    """Link or unlink two memories."""
    homes = op.places if op.home is None else (op.home,)
    row, source = _find(tx, op.source, homes, field="source")
    _find(tx, op.target, op.places, field="target")
    key = (op.source, op.kind, op.target)
    before = tx.first("get_link", *key)
    if op.strength is None:
        if before is None:
            return False
        tx.run("delete_link", *key)
    else:
        if before is not None and before[0] == op.strength:
            return False
        created_at = before[1] if before else op.stamp.at
        values = (*key, op.strength, created_at)
        tx.run("put_link", *values, digests.checksum(*values))
    detail: JsonObject = {
        "target": op.target,
        "kind": op.kind,
        "before": before[0] if before else None,
        "after": op.strength,
    }
    tx.event(op.stamp, tx.place(source.place), "link", row, detail=detail)
    return before is None


def set_group(tx: Transaction, op: operations.SetGroup) -> Group:
    """Make sure that a group exists."""
    place = tx.place(op.place)
    found = tx.first("group_by_name", place, op.name)
    if found is None:
        values = (op.id, place, op.name, op.description, op.stamp.at)
        number = tx.scalar("insert_group", *values, digests.checksum(*values))
        tx.event(op.stamp, place, "group", number, detail={"id": op.id})
        found = (number, op.id, op.name, op.description, op.stamp.at)
    return rows.group_of((*found, tx.scalar("group_size", found[0])))


def find_group(connection: apsw.Connection, place: int, group: str) -> Sequence[Any]:
    """A group of a place by id, by name, or by number."""
    names = ["group_by_id", "group_by_name"] + (["group_by_number"] if group.isdecimal() else [])
    for name in names:
        found = first(connection, name, place, group)
        if found is not None:
            return found
    raise NotFound(f"no group {group!r} in this scope")


def set_member(tx: Transaction, op: operations.SetMember) -> bool:
    """Put a memory into a group or take it out."""
    place = tx.place(op.place)
    number = find_group(tx.connection, place, op.group)[0]
    row, record = _find(tx, op.memory, (op.place,), field="memory")
    if op.present:
        values = (number, row, op.stamp.at)
        tx.run("insert_member", *values, digests.checksum(*values))
    else:
        tx.run("delete_member", number, row)
    if not tx.connection.changes():
        return False
    detail: JsonObject = {"group": op.group, "present": op.present}
    tx.event(op.stamp, tx.place(record.place), "member", row, detail=detail)
    return True


def open_session(tx: Transaction, op: operations.OpenSession) -> SessionRecord:
    """Make sure that a session exists."""
    place = tx.place(op.place)
    found = tx.first("get_session", place, op.id)
    if found is None:
        values = (place, op.id, op.kind, compact(op.metadata), op.stamp.at, op.expires_at)
        number = tx.scalar("insert_session", *values, digests.checksum(*values))
        tx.event(op.stamp, place, "session", number, detail={"id": op.id})
        found = tx.first("get_session", place, op.id)
    assert found is not None
    return rows.session_of(found, op.place)


def write_profile(tx: Transaction, op: operations.WriteProfile) -> Profile:
    """Change one category of a profile and keep what it was."""
    place = tx.place(op.place)
    found = tx.first("get_profile", place, op.category)
    number, text, version, updated_at = found or (0, "{}", 0, op.stamp.at)
    if op.if_version is not None and op.if_version != version:
        raise VersionMismatch(
            f"{op.category} is at version {version}, not {op.if_version}; read it again"
        )
    old: JsonObject = json.loads(text)
    new = _profile_after(op, old)
    data = compact(new)
    if data == text and found:
        return rows.profile_of(op.category, text, version, updated_at)
    at_most(len(data.encode()), PROFILE_BYTES_MAX, name="PROFILE_BYTES_MAX", field=op.category)
    if found:
        kept = ("profile", number, version, place, updated_at, op.stamp.at, text)
        tx.run("insert_version", *kept, digests.checksum(*kept))
        tx.run("update_profile", data, version + 1, op.stamp.at, number)
    else:
        number = tx.scalar("insert_profile", place, op.category, data, 1, op.stamp.at)
    tx.event(
        op.stamp,
        place,
        "profile",
        number,
        version=version + 1,
        before=digests.of_data(old, op.stamp.salt),
        after=digests.of_data(new, op.stamp.salt),
        detail={"category": op.category},
    )
    return rows.profile_of(op.category, data, version + 1, op.stamp.at)


def _profile_after(op: operations.WriteProfile, old: JsonObject) -> JsonObject:
    if op.mode == "merge":
        return merging.deep_merge(old, op.data)
    if op.mode == "replace":
        return merging.without_nulls(op.data)
    return merging.remove_path(old, op.path) if op.mode == "remove" else {}


def touch(tx: Transaction, op: operations.Touch) -> None:
    """Add to the read counters of memories that still exist."""
    for id, count in op.counts.items():
        tx.run("touch", id, count, op.at)
        found = None if op.stamp is None else tx.first("memory_by_id", id)
        if op.stamp is not None and found is not None:
            place = rows.place_of(tx.connection, found[1])
            assert place is not None
            reinforce(tx, reinforcing.used(id, place, op.stamp, op.factor))


def put_embedding(tx: Transaction, op: operations.PutEmbedding) -> bool:
    """Add a vector to a memory whose text is still the one that was embedded."""
    found = tx.first("memory_by_id", op.id)
    if found is None or found[-2] != op.version:
        if op.must:
            raise VersionMismatch(f"{op.id} is not at version {op.version} any more")
        return False
    put_entry(tx, found[1], found[0], op.entry, _space_of(tx, op.entry))
    return True


_CARRIERS: Mapping[type, Callable[[Transaction, Any], Any]] = {
    operations.Remember: remember,
    operations.Alter: alter,
    operations.Reinforce: reinforce,
    operations.SetLink: set_link,
    operations.SetGroup: set_group,
    operations.SetMember: set_member,
    operations.OpenSession: open_session,
    operations.WriteProfile: write_profile,
    operations.Touch: touch,
    operations.PutEmbedding: put_embedding,
}
