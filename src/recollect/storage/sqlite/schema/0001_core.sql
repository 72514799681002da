-- Schema 1: memories and everything that hangs on them.
--
-- Rows are the truth. `unsealed` and `segments` are an index over them that can be rebuilt.
-- Moments are microseconds since 1970 in UTC. `sum` is a checksum over the row's other values,
-- so that `verify` notices a flipped byte in tables whose rows no event describes.

-- Where rows lie: the rows of a user, of an app, of a space, or of an anonymous session.
CREATE TABLE places (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    app TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    sum INTEGER NOT NULL,
    UNIQUE (tenant, app, kind, name)
) STRICT;

-- One row per memory; a message is a memory with a role and a position in its session.
CREATE TABLE memories (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    place INTEGER NOT NULL REFERENCES places (id),
    id TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    tier TEXT NOT NULL,
    status TEXT NOT NULL,
    importance REAL NOT NULL,
    agent TEXT,
    session TEXT,
    position INTEGER,
    role TEXT,
    speaker TEXT,
    parent TEXT,
    item_key TEXT,
    stage TEXT,
    stage_changed_at INTEGER,
    priority INTEGER,
    source TEXT NOT NULL,
    trust TEXT NOT NULL,
    occurred_at INTEGER,
    valid_from INTEGER,
    valid_to INTEGER,
    expires_at INTEGER,
    reinforced_at INTEGER,
    reinforcements INTEGER NOT NULL,
    superseded_by TEXT,
    version INTEGER NOT NULL,
    tags TEXT NOT NULL,
    metadata TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;

CREATE INDEX memories_place ON memories (place);
CREATE INDEX memories_session ON memories (place, session, position) WHERE session IS NOT NULL;
CREATE INDEX memories_parent ON memories (parent) WHERE parent IS NOT NULL;
CREATE UNIQUE INDEX memories_item ON memories (place, kind, item_key) WHERE item_key IS NOT NULL;
-- Memories that the present does not simply show; everything else needs no look at its row.
CREATE INDEX memories_special ON memories (place)
    WHERE status <> 'active' OR valid_to IS NOT NULL OR expires_at IS NOT NULL;

-- How often memories were read; written in batches, may lag behind.
CREATE TABLE accesses (
    memory INTEGER PRIMARY KEY REFERENCES memories (row),
    count INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    sum INTEGER NOT NULL
) STRICT;

-- Vectors of memories: float32 of unit length, one per embedding space.
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories (row),
    space INTEGER NOT NULL REFERENCES spaces (id),
    vector BLOB NOT NULL,
    sum INTEGER NOT NULL,
    UNIQUE (memory, space)
) STRICT;

-- Embedding spaces: vectors of different spaces are never compared.
CREATE TABLE spaces (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL,
    sum INTEGER NOT NULL
) STRICT;

-- Index entries that are not part of a segment yet: the terms of a memory as 64-bit numbers, and
-- its vector as int8 with a scale. A later entry for the same memory replaces an earlier one.
CREATE TABLE unsealed (
    place INTEGER NOT NULL,
    memory INTEGER NOT NULL,
    terms BLOB NOT NULL,
    space INTEGER,
    code BLOB,
    sum INTEGER NOT NULL,
    PRIMARY KEY (place, memory)
) WITHOUT ROWID, STRICT;

-- Sealed index entries of some hundred memories in columns; see `segments.py` for the layout.
CREATE TABLE segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    place INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    members INTEGER NOT NULL,
    payload BLOB NOT NULL,
    sum INTEGER NOT NULL
) STRICT;

CREATE INDEX segments_place ON segments (place);

-- States that were replaced: what a memory or a profile was at `version`, from `since` to `until`.
CREATE TABLE versions (
    what TEXT NOT NULL,
    about INTEGER NOT NULL,
    version INTEGER NOT NULL,
    place INTEGER NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    body TEXT NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (what, about, version)
) WITHOUT ROWID, STRICT;

CREATE INDEX versions_time ON versions (place, until) WHERE what = 'memory';

-- What happened. The columns up to `after` and the digest of `detail` are chained by seals;
-- `salt` and `detail` are emptied by an erasure.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    place INTEGER NOT NULL,
    action TEXT NOT NULL,
    what TEXT NOT NULL,
    about INTEGER NOT NULL,
    version INTEGER,
    before BLOB,
    after BLOB,
    detail_digest BLOB,
    salt BLOB,
    detail TEXT
) STRICT;

CREATE INDEX events_about ON events (about, what);
CREATE INDEX events_id ON events (id);
-- An erasure has to find the links that name what is erased.
CREATE INDEX events_target ON events (json_extract(detail, '$.target')) WHERE what = 'link';

-- Hash chain over the events, written in batches off the write path.
CREATE TABLE seals (
    last_seq INTEGER PRIMARY KEY,
    first_seq INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;

CREATE TABLE links (
    source TEXT NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    strength REAL NOT NULL,
    created_at INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (source, kind, target)
) WITHOUT ROWID, STRICT;

CREATE INDEX links_target ON links (target);

CREATE TABLE groups (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    place INTEGER NOT NULL REFERENCES places (id),
    name TEXT NOT NULL,
    description TEXT,
    created_at INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    UNIQUE (place, name)
) STRICT;

CREATE TABLE members (
    grp INTEGER NOT NULL REFERENCES groups (number),
    memory INTEGER NOT NULL REFERENCES memories (row),
    added_at INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (grp, memory)
) WITHOUT ROWID, STRICT;

CREATE INDEX members_memory ON members (memory);

CREATE TABLE sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    place INTEGER NOT NULL REFERENCES places (id),
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    metadata TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    expires_at INTEGER,
    sum INTEGER NOT NULL,
    UNIQUE (place, id)
) STRICT;

-- One row per category of a profile.
CREATE TABLE profiles (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    place INTEGER NOT NULL REFERENCES places (id),
    category TEXT NOT NULL,
    data TEXT NOT NULL,
    version INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (place, category)
) STRICT;

-- Keys that made writes safe to retry, and what was written under them.
CREATE TABLE once (
    place INTEGER NOT NULL,
    key TEXT NOT NULL,
    body BLOB NOT NULL,
    memory INTEGER NOT NULL,
    at INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (place, key)
) WITHOUT ROWID, STRICT;

CREATE INDEX once_memory ON once (memory);

-- Work to be done later, queued in the transaction that makes it necessary.
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    place INTEGER NOT NULL,
    memory INTEGER,
    payload TEXT NOT NULL,
    run_at INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    leased_until INTEGER NOT NULL,
    sum INTEGER NOT NULL -- over what never changes: kind, memory, payload, run_at
) STRICT;

CREATE INDEX jobs_due ON jobs (run_at);
CREATE INDEX jobs_memory ON jobs (memory) WHERE memory IS NOT NULL;

-- Digests of the ids and users that were erased, so that an import cannot bring them back.
CREATE TABLE tombstones (
    digest BLOB NOT NULL,
    tenant TEXT NOT NULL,
    at INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (digest, tenant)
) WITHOUT ROWID, STRICT;
