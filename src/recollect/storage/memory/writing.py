"""What each operation but erasing does to the tables."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from recollect.domain import consolidation, digests, merging, operations, reinforcing, times
from recollect.domain.errors import (
    ConflictError,
    IdempotencyMismatch,
    ValidationError,
    VersionMismatch,
)
from recollect.domain.limits import PROFILE_BYTES_MAX, TREE_DEPTH_MAX, at_most
from recollect.domain.records import (
    Group,
    JsonObject,
    MemoryRecord,
    Profile,
    SessionRecord,
    compact,
    pack,
)
from recollect.domain.sameness import repeats, strengthened
from recollect.storage.memory import reading
from recollect.storage.memory.tables import (
    GroupRow,
    OnceRow,
    PastState,
    ProfileRow,
    Row,
    SessionRow,
    Tables,
)


def remember(tables: Tables, op: operations.Remember) -> MemoryRecord | operations.Repeated:
    """Store a new memory, or find the one that was stored under the same key or says the same."""
    place = tables.place(op.record.place)
    if op.once is not None:
        earlier = tables.once.get((op.record.place, op.once.key))
        if earlier is not None:
            if earlier.body != op.once.body:
                raise IdempotencyMismatch(
                    f"the key {op.once.key!r} was used before for something else; use a new key"
                )
            return reading.handed_out(tables.memories[earlier.row].record)
    if op.strengthen is not None:
        repeated = _repeated(tables, op, op.strengthen)
        if repeated is not None:
            return repeated
    record = _positioned(tables, copy.deepcopy(op.record))
    if record.id in tables.row_of:
        raise ConflictError(f"{record.id} exists already; nothing was stored under that id")
    _require_parent(tables, record)
    _require_free_key(tables, record)
    number = tables.next("memory")
    tables.row_of[record.id] = number
    tables.memories[number] = Row(record, b"")
    put_entry(tables, number, op.entry)
    after = digests.of_packed(pack(record), op.stamp.salt)
    tables.event(op.stamp, place, "memory", number, version=1, after=after)
    if op.once is not None:
        once = OnceRow(op.once.body, number, op.stamp.at)
        tables.once[(record.place, op.once.key)] = once
    return reading.handed_out(record)


def _repeated(tables: Tables, op: operations.Remember, factor: float) -> operations.Repeated | None:
    """The memory that says the same already, strengthened."""
    for mark in op.entry.marks[:1]:
        for number in reversed(tables.bearing(op.record.place, mark)):
            old = tables.memories[number].record
            if repeats(op.record, old):
                stamp = replace(op.stamp, action="reinforce")
                changes = strengthened(old, op.record, factor, op.stamp.at)
                new = alter(tables, operations.Alter(stamp, old.id, (old.place,), changes))
                if op.once is not None:
                    once = OnceRow(op.once.body, number, op.stamp.at)
                    tables.once[(old.place, op.once.key)] = once
                return operations.Repeated(new)
    return None


def _positioned(tables: Tables, record: MemoryRecord) -> MemoryRecord:
    """Messages get the next position in their session; imported ones keep theirs."""
    if record.session is None or record.role is None or record.position is not None:
        return record
    others = (row.record for row in tables.memories.values())
    taken = [
        one.position
        for one in others
        if one.place == record.place and one.session == record.session and one.position is not None
    ]
    return replace(record, position=max(taken, default=-1) + 1)


def _require_parent(tables: Tables, record: MemoryRecord) -> None:
    """The parent exists in the same place, and is not below its own child."""
    above = record.parent
    for _ in range(TREE_DEPTH_MAX):
        if above is None:
            return
        if above == record.id:
            raise ValidationError(
                f"{record.parent} lies below {record.id}: a memory cannot be its own ancestor",
                field="parent",
            )
        above = tables.find(above, (record.place,), field="parent")[1].record.parent
    raise ValidationError(
        f"parents are nested deeper than TREE_DEPTH_MAX = {TREE_DEPTH_MAX}", field="parent"
    )


def _require_free_key(tables: Tables, record: MemoryRecord) -> None:
    """No other item of the same kind has the key."""
    if record.item_key is None:
        return
    wanted = (record.place, record.kind, record.item_key)
    for row in tables.memories.values():
        other = row.record
        if (other.place, other.kind, other.item_key) == wanted and other.id != record.id:
            raise ConflictError(
                f"{record.kind} already has an item {record.item_key!r} ({other.id}); "
                "change that one"
            )


def put_entry(tables: Tables, number: int, entry: operations.Entry) -> None:
    """Index a text, and keep its vector if it came with one."""
    row = tables.memories[number]
    vectors = dict(row.vectors)
    if entry.vector is not None:
        assert entry.space is not None
        dimensions = entry.dimensions
        known = tables.spaces.get(entry.space, dimensions)
        if known != dimensions:
            raise ValidationError(
                f"the vector has {dimensions} dimensions, the space {entry.space!r} has {known}",
                field="vector",
            )
        tables.spaces[entry.space] = dimensions
        vectors[entry.space] = entry.vector
    tables.bear(number, entry.marks)
    tables.memories[number] = replace(row, terms=entry.terms, marks=entry.marks, vectors=vectors)


def alter(tables: Tables, op: operations.Alter) -> MemoryRecord:
    """Change fields of a memory and keep what they were."""
    number, row = tables.find(op.id, op.places)
    old = row.record
    for name, value in op.expect.items():
        if getattr(old, name) != value:
            error = VersionMismatch if name == "version" else ConflictError
            raise error(f"{op.id}: {name} is {getattr(old, name)!r}, not {value!r}; read it again")
    changes = copy.deepcopy(dict(op.changes))
    if pack(replace(old, **changes)) == pack(old):
        return old
    at = times.show(op.stamp.at)
    new = replace(old, **changes, updated_at=at, version=old.version + 1)
    if new.parent != old.parent:
        _require_parent(tables, new)
    if (new.item_key, new.kind) != (old.item_key, old.kind):
        _require_free_key(tables, new)
    if new.superseded_by is not None and new.superseded_by != old.superseded_by:
        tables.find(new.superseded_by, (new.place,), field="superseded_by")
    since = times.to_micros(old.updated_at)
    past = PastState(replace(old, access_count=0), since, op.stamp.at)
    tables.past[(number, old.version)] = past
    tables.memories[number] = replace(row, record=new)
    if op.entry is not None:
        # A vector of the words it had before says nothing about the words it has now.
        tables.memories[number] = replace(tables.memories[number], vectors={})
        put_entry(tables, number, op.entry)
    tables.event(
        op.stamp,
        tables.place(old.place),
        "memory",
        number,
        version=new.version,
        before=digests.of_packed(pack(old), op.stamp.salt),
        after=digests.of_packed(pack(new), op.stamp.salt),
        detail={"fields": sorted(op.changes)},
    )
    if consolidation.outdated_by(old, new):
        for source, kind, target in list(tables.links):
            made = tables.memories[tables.row_of[source]].record
            if (kind, target) == (consolidation.DERIVED, new.id) and consolidation.goes_along(made):
                alter(tables, consolidation.outdating(made, op))
    return reading.handed_out(new)


def reinforce(tables: Tables, op: operations.Reinforce) -> MemoryRecord:
    """Make a memory strong again, from what it is at this moment."""
    old = tables.find(op.id, op.places)[1].record
    changes = reinforcing.reinforced(old, op.factor, op.stamp.at)
    return alter(tables, operations.Alter(op.stamp, op.id, op.places, changes))


def set_link(tables: Tables, op: operations.SetLink) -> bool:
    """Link or unlink two memories."""
    homes = op.places if op.home is None else (op.home,)
    number, source = tables.find(op.source, homes, field="source")
    tables.find(op.target, op.places, field="target")
    key = (op.source, op.kind, op.target)
    before = tables.links.get(key)
    strength = before[0] if before else None
    if strength == op.strength:
        return False
    if op.strength is None:
        del tables.links[key]
    else:
        tables.links[key] = (op.strength, before[1] if before else op.stamp.at)
    detail = {"target": op.target, "kind": op.kind, "before": strength, "after": op.strength}
    tables.event(op.stamp, tables.place(source.record.place), "link", number, detail=detail)
    return before is None


def set_group(tables: Tables, op: operations.SetGroup) -> Group:
    """Make sure that a group exists."""
    place = tables.place(op.place)
    for number, group in tables.groups.items():
        if (group.place, group.name) == (op.place, op.name):
            return reading.group_of(tables, number)
    number = tables.next("group")
    tables.groups[number] = GroupRow(op.id, op.place, op.name, op.description, op.stamp.at)
    tables.event(op.stamp, place, "group", number, detail={"id": op.id})
    return reading.group_of(tables, number)


def set_member(tables: Tables, op: operations.SetMember) -> bool:
    """Put a memory into a group or take it out."""
    group = tables.group(op.place, op.group)
    number, _ = tables.find(op.memory, (op.place,), field="memory")
    if ((group, number) in tables.members) is op.present:
        return False
    if op.present:
        tables.members[(group, number)] = op.stamp.at
    else:
        del tables.members[(group, number)]
    detail: JsonObject = {"group": op.group, "present": op.present}
    tables.event(op.stamp, tables.place(op.place), "member", number, detail=detail)
    return True


def open_session(tables: Tables, op: operations.OpenSession) -> SessionRecord:
    """Make sure that a session exists."""
    place = tables.place(op.place)
    if (op.place, op.id) not in tables.sessions:
        number = tables.next("session")
        metadata = copy.deepcopy(op.metadata)
        row = SessionRow(number, op.kind, metadata, op.stamp.at, op.expires_at)
        tables.sessions[(op.place, op.id)] = row
        tables.event(op.stamp, place, "session", number, detail={"id": op.id})
    return reading.session_of(tables, op.place, op.id)


def write_profile(tables: Tables, op: operations.WriteProfile) -> Profile:
    """Change one category of a profile and keep what it was."""
    place = tables.place(op.place)
    row = tables.profiles.get((op.place, op.category))
    old, version = (row.data, row.version) if row else ({}, 0)
    if op.if_version is not None and op.if_version != version:
        raise VersionMismatch(
            f"{op.category} is at version {version}, not {op.if_version}; read it again"
        )
    new = _profile_after(op, old)
    text = compact(new)
    if row is not None and text == compact(old):
        return reading.profile_of(op.category, row)
    at_most(len(text.encode()), PROFILE_BYTES_MAX, name="PROFILE_BYTES_MAX", field=op.category)
    if row is not None:
        tables.past_profiles[(row.number, row.version)] = row
    number = tables.next("profile") if row is None else row.number
    written = ProfileRow(number, new, version + 1, op.stamp.at)
    tables.profiles[(op.place, op.category)] = written
    tables.event(
        op.stamp,
        place,
        "profile",
        number,
        version=version + 1,
        before=digests.of_data(old, op.stamp.salt),
        after=digests.of_data(new, op.stamp.salt),
        detail={"category": op.category},
    )
    return reading.profile_of(op.category, written)


def _profile_after(op: operations.WriteProfile, old: JsonObject) -> JsonObject:
    if op.mode == "merge":
        return merging.deep_merge(old, op.data)
    if op.mode == "replace":
        return merging.without_nulls(op.data)
    return merging.remove_path(old, op.path) if op.mode == "remove" else {}


def touch(tables: Tables, op: operations.Touch) -> None:
    """Add to the read counters of memories that still exist."""
    for id, count in op.counts.items():
        number = tables.row_of.get(id)
        if number is not None:
            row = tables.memories[number]
            read = replace(row.record, access_count=row.record.access_count + count)
            tables.memories[number] = replace(row, record=read)
            if op.stamp is not None:
                reinforce(tables, reinforcing.used(id, read.place, op.stamp, op.factor))


def put_embedding(tables: Tables, op: operations.PutEmbedding) -> bool:
    """Add a vector to a memory whose text is still the one that was embedded."""
    number = tables.row_of.get(op.id)
    if number is None or tables.memories[number].record.version != op.version:
        if op.must:
            raise VersionMismatch(f"{op.id} is not at version {op.version} any more")
        return False
    put_entry(tables, number, op.entry)
    return True


WRITING: Mapping[type, Callable[[Tables, Any], Any]] = {
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
