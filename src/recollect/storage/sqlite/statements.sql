-- name: place_id
SELECT id FROM places WHERE tenant = ? AND app = ? AND kind = ? AND name = ?;

-- name: place_of_id
SELECT tenant, app, kind, name FROM places WHERE id = ?;

-- name: places_of_tenant
SELECT tenant, app, kind, name FROM places WHERE ?1 IS NULL OR tenant = ?1 ORDER BY id;

-- name: insert_place
INSERT INTO places (tenant, app, kind, name, sum) VALUES (?, ?, ?, ?, ?) RETURNING id;

-- name: delete_place
DELETE FROM places WHERE id = ?;

-- name: insert_memory
-- The columns in the order of `domain.records.PACKED`, after the place.
INSERT INTO memories (
    row, place, id, text, created_at, updated_at, kind, tier, status, importance, agent, session,
    position, role, speaker, parent, item_key, stage, stage_changed_at, priority, source, trust,
    occurred_at, valid_from, valid_to, expires_at, reinforced_at, reinforcements, superseded_by,
    tags, metadata, version
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: last_row
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'memories'), 0);

-- name: update_memory
UPDATE memories SET
    id = ?, text = ?, created_at = ?, updated_at = ?, kind = ?, tier = ?, status = ?,
    importance = ?, agent = ?, session = ?, position = ?, role = ?, speaker = ?, parent = ?,
    item_key = ?, stage = ?, stage_changed_at = ?, priority = ?, source = ?, trust = ?,
    occurred_at = ?, valid_from = ?, valid_to = ?, expires_at = ?, reinforced_at = ?,
    reinforcements = ?, superseded_by = ?, tags = ?, metadata = ?, version = ?
WHERE row = ?;

-- name: memory_columns
-- What every statement below selects of a memory: its row, its place, `PACKED`, its read counter.
SELECT
    m.row, m.place, m.id, m.text, m.created_at, m.updated_at, m.kind, m.tier, m.status,
    m.importance, m.agent, m.session, m.position, m.role, m.speaker, m.parent, m.item_key, m.stage,
    m.stage_changed_at, m.priority, m.source, m.trust, m.occurred_at, m.valid_from, m.valid_to,
    m.expires_at, m.reinforced_at, m.reinforcements, m.superseded_by, m.tags, m.metadata,
    m.version, coalesce(a.count, 0)
FROM memories AS m LEFT JOIN accesses AS a ON a.memory = m.row

-- name: memory_by_id
{memory_columns} WHERE m.id = ?;

-- name: memory_by_row
{memory_columns} WHERE m.row = ?;

-- name: memories_by_ids
{memory_columns} WHERE m.id IN (SELECT value FROM json_each(?));

-- name: memories_by_rows
{memory_columns} WHERE m.row IN (SELECT value FROM json_each(?));

-- name: children_of
{memory_columns} WHERE m.parent IN (SELECT value FROM json_each(?)) ORDER BY m.row;

-- name: members_of_group
{memory_columns} JOIN members AS g ON g.memory = m.row WHERE g.grp = ?
ORDER BY g.added_at, m.row;

-- name: rows_only
SELECT m.row FROM memories AS m LEFT JOIN accesses AS a ON a.memory = m.row

-- name: count_only
SELECT count(*) FROM memories AS m LEFT JOIN accesses AS a ON a.memory = m.row

-- name: last_position
SELECT max(position) FROM memories WHERE place = ? AND session = ?;

-- name: same_key
SELECT id FROM memories WHERE place = ? AND kind = ? AND item_key = ? AND row <> ?;

-- name: special
-- Memories of a place that the present does not simply show, with what decides it.
SELECT row, status, valid_to, expires_at FROM memories
WHERE place = ? AND (status <> 'active' OR valid_to IS NOT NULL OR expires_at IS NOT NULL);

-- name: changed_since
-- What happened after an event, for caches to catch up.
SELECT seq, place, what, about FROM events WHERE seq > ? ORDER BY seq;

-- name: data_version
-- Another number after every commit of another connection.
PRAGMA data_version;

-- name: last_seq
SELECT coalesce(max(seq), 0) FROM events;

-- name: index_state
SELECT m.place, m.status, m.valid_to, m.expires_at, u.terms, u.space, u.code, s.dimensions,
    m.session, m.position, m.role, m.speaker, m.kind,
    coalesce(m.occurred_at, m.valid_from, m.created_at), m.importance, m.tier,
    coalesce(m.reinforced_at, m.created_at)
FROM memories AS m LEFT JOIN unsealed AS u ON u.place = m.place AND u.memory = m.row
LEFT JOIN spaces AS s ON s.id = u.space
WHERE m.row = ?;

-- name: facets_of_place
-- What ranking asks about every memory of a place besides its words and vectors.
SELECT row, session, position, role, speaker, kind,
    coalesce(occurred_at, valid_from, created_at), importance, tier,
    coalesce(reinforced_at, created_at)
FROM memories WHERE place = ?;

-- name: insert_unsealed
INSERT INTO unsealed (place, memory, terms, space, code, sum) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (place, memory) DO UPDATE SET
    terms = excluded.terms, space = excluded.space, code = excluded.code, sum = excluded.sum;

-- name: unsealed_of_place
SELECT u.memory, u.terms, u.space, u.code, s.dimensions
FROM unsealed AS u LEFT JOIN spaces AS s ON s.id = u.space WHERE u.place = ? ORDER BY u.memory;

-- name: unsealed_count
SELECT count(*) FROM unsealed WHERE place = ?;

-- name: delete_unsealed_of_place
DELETE FROM unsealed WHERE place = ?;

-- name: insert_segment
INSERT INTO segments (place, first, last, members, payload, sum) VALUES (?, ?, ?, ?, ?, ?);

-- name: sealed_count
SELECT coalesce(sum(members), 0) FROM segments WHERE place = ?;

-- name: segments_of_place
SELECT payload FROM segments WHERE place = ? ORDER BY id;

-- name: update_segment
UPDATE segments SET first = ?, last = ?, members = ?, payload = ?, sum = ? WHERE id = ?;

-- name: delete_segment
DELETE FROM segments WHERE id = ?;

-- name: space_id
SELECT id, dimensions FROM spaces WHERE name = ?;

-- name: space_name
SELECT name FROM spaces WHERE id = ?;

-- name: insert_space
INSERT INTO spaces (name, dimensions, sum) VALUES (?, ?, ?) RETURNING id;

-- name: insert_vector
INSERT INTO vectors (id, memory, space, vector, sum) VALUES (?1 * 4096 + ?2, ?1, ?2, ?3, ?4)
ON CONFLICT (id) DO UPDATE SET vector = excluded.vector, sum = excluded.sum;

-- name: delete_vectors
DELETE FROM vectors WHERE id BETWEEN ?1 * 4096 AND ?1 * 4096 + 4095;

-- name: vectors_of_rows
-- The vectors of some memories in one space; the rows come as a JSON list.
SELECT v.memory, v.vector FROM vectors AS v
WHERE v.id IN (SELECT value * 4096 + ?1 FROM json_each(?2));

-- name: latest_vector
SELECT v.space, v.vector, s.dimensions FROM vectors AS v JOIN spaces AS s ON s.id = v.space
WHERE v.id BETWEEN ?1 * 4096 AND ?1 * 4096 + 4095 ORDER BY v.id DESC LIMIT 1;

-- name: insert_version
INSERT INTO versions (what, about, version, place, since, until, body, sum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: versions_of
SELECT version, since, until, body FROM versions WHERE what = ? AND about = ? ORDER BY version;

-- name: versions_at
-- The states of a place's memories that were replaced after a moment but in force at it, and when
-- the memory ended as far as we know today.
SELECT v.about, v.body, m.valid_to FROM versions AS v INNER JOIN memories AS m ON m.row = v.about
WHERE v.what = 'memory' AND v.place = ? AND v.until > ? AND v.since <= ?;

-- name: insert_event
INSERT INTO events (
    id, at, place, action, what, about, version, before, after, detail_digest, salt, detail
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: events_of
SELECT seq, id, at, place, action, what, about, version, before, after, detail FROM events
WHERE about = ? AND what = ? AND seq > ? ORDER BY seq LIMIT ?;

-- name: events_with_id
SELECT seq, id, at, place, action, what, about, version, before, after, detail FROM events
WHERE id = ? AND seq > ? ORDER BY seq LIMIT ?;

-- name: events_of_places
SELECT seq, id, at, place, action, what, about, version, before, after, detail FROM events
WHERE place IN (SELECT value FROM json_each(?)) AND seq > ? ORDER BY seq LIMIT ?;

-- name: last_digest
SELECT after, salt FROM events WHERE about = ? AND what = ? ORDER BY seq DESC LIMIT 1;

-- name: last_event
SELECT seq, salt, before, after FROM events WHERE about = ? AND what = ? ORDER BY seq DESC LIMIT 1;

-- name: unsealed_events
SELECT seq, id, at, place, action, what, about, version, before, after, detail_digest FROM events
WHERE seq > ? AND seq <= ? ORDER BY seq;

-- name: last_seal
SELECT last_seq, hash FROM seals ORDER BY last_seq DESC LIMIT 1;

-- name: seals
SELECT first_seq, last_seq, hash FROM seals ORDER BY last_seq;

-- name: insert_seal
INSERT INTO seals (last_seq, first_seq, hash) VALUES (?, ?, ?);

-- name: get_link
SELECT strength, created_at FROM links WHERE source = ? AND kind = ? AND target = ?;

-- name: put_link
INSERT INTO links (source, kind, target, strength, created_at, sum) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (source, kind, target) DO UPDATE SET strength = excluded.strength, sum = excluded.sum;

-- name: delete_link
DELETE FROM links WHERE source = ? AND kind = ? AND target = ?;

-- name: links_of
-- Links that start or end at some memories (a JSON list of ids) with both ends in some places.
SELECT l.source, l.target, l.kind, l.strength, l.created_at
FROM links AS l
JOIN memories AS s ON s.id = l.source
JOIN memories AS t ON t.id = l.target
WHERE (
    l.source IN (SELECT value FROM json_each(?1)) OR l.target IN (SELECT value FROM json_each(?1))
)
AND s.place IN (SELECT value FROM json_each(?2)) AND t.place IN (SELECT value FROM json_each(?2))
AND (?3 IS NULL OR l.kind = ?3)
ORDER BY l.created_at, l.source, l.kind, l.target;

-- name: derived_from
-- Memories that were derived from some memories (a JSON list of ids).
SELECT m.row FROM links AS l JOIN memories AS m ON m.id = l.source
WHERE l.kind = 'derived_from' AND l.target IN (SELECT value FROM json_each(?));

-- name: group_by_name
SELECT number, id, name, description, created_at FROM groups WHERE place = ? AND name = ?;

-- name: group_by_id
SELECT number, id, name, description, created_at FROM groups WHERE place = ? AND id = ?;

-- name: group_by_number
SELECT number, id, name, description, created_at FROM groups WHERE place = ? AND number = ?;

-- name: groups_of_place
SELECT g.number, g.id, g.name, g.description, g.created_at, count(m.memory)
FROM groups AS g LEFT JOIN members AS m ON m.grp = g.number
WHERE g.place = ? GROUP BY g.number ORDER BY g.number;

-- name: group_size
SELECT count(*) FROM members WHERE grp = ?;

-- name: insert_group
INSERT INTO groups (id, place, name, description, created_at, sum) VALUES (?, ?, ?, ?, ?, ?)
RETURNING number;

-- name: insert_member
INSERT INTO members (grp, memory, added_at, sum) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: delete_member
DELETE FROM members WHERE grp = ? AND memory = ?;

-- name: insert_session
INSERT INTO sessions (place, id, kind, metadata, started_at, expires_at, sum)
VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING number;

-- name: get_session
SELECT s.id, s.kind, s.metadata, s.started_at, s.expires_at,
    (SELECT count(*) FROM memories AS m WHERE m.place = s.place AND m.session = s.id
        AND m.position IS NOT NULL)
FROM sessions AS s WHERE s.place = ? AND s.id = ?;

-- name: sessions_of_place
SELECT s.id, s.kind, s.metadata, s.started_at, s.expires_at,
    (SELECT count(*) FROM memories AS m WHERE m.place = s.place AND m.session = s.id
        AND m.position IS NOT NULL)
FROM sessions AS s WHERE s.place = ? ORDER BY s.number DESC;

-- name: get_profile
SELECT number, data, version, updated_at FROM profiles WHERE place = ? AND category = ?;

-- name: profiles_of_place
SELECT number, category, data, version, updated_at FROM profiles WHERE place = ? ORDER BY category;

-- name: insert_profile
INSERT INTO profiles (place, category, data, version, updated_at) VALUES (?, ?, ?, ?, ?)
RETURNING number;

-- name: update_profile
UPDATE profiles SET data = ?, version = ?, updated_at = ? WHERE number = ?;

-- name: get_once
SELECT body, memory FROM once WHERE place = ? AND key = ?;

-- name: insert_once
INSERT INTO once (place, key, body, memory, at, sum) VALUES (?, ?, ?, ?, ?, ?);

-- name: rows_marked
-- The newest memories of a place that bear a mark.
SELECT memory FROM marks WHERE place = ? AND mark = ? ORDER BY memory DESC LIMIT 20;

-- name: active_rows_marked
SELECT k.memory FROM marks AS k JOIN memories AS m ON m.row = k.memory
WHERE k.place = ? AND k.mark = ? AND m.status = 'active' ORDER BY k.memory DESC LIMIT 20;

-- name: rows_marked_any
-- The same for many marks, a JSON list.
SELECT mark, memory FROM marks WHERE place = ? AND mark IN (SELECT value FROM json_each(?))
ORDER BY memory DESC;

-- name: insert_mark
INSERT INTO marks (place, mark, memory, sum) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: delete_marks
DELETE FROM marks WHERE place = ? AND memory = ?;

-- name: move_marks
UPDATE OR IGNORE marks SET place = ?2 WHERE place = ?1;

-- name: erase_place_marks
DELETE FROM marks WHERE place = ?;

-- name: erase_marks
DELETE FROM marks WHERE place IN (SELECT place FROM temp.doomed)
    AND memory IN (SELECT row FROM temp.doomed);

-- name: expire_once
DELETE FROM once WHERE at < ?;

-- name: touch
INSERT INTO accesses (memory, count, last_at, sum)
SELECT row, ?2, ?3, access_sum(row, ?2, ?3) FROM memories WHERE id = ?1
ON CONFLICT (memory) DO UPDATE SET
    count = count + ?2, last_at = ?3, sum = access_sum(memory, count + ?2, ?3);

-- name: insert_job
INSERT INTO jobs (
    kind, place, memory, payload, run_at, due_at, priority, alone, sum, attempt, leased_until
) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, 0, 0, 0) RETURNING number;

-- name: sum_job
UPDATE jobs SET sum = job_sum(
    number, kind, place, memory, payload, run_at, attempt, leased_until,
    priority, alone, tries, due_at, dead_at, reason
) WHERE number = ?;

-- name: waiting_job
SELECT 1 FROM jobs
WHERE kind = ?2 AND place = ?3 AND memory IS ?4 AND dead_at IS NULL AND leased_until <= ?1;

-- name: next_job
-- The job to claim now: of the highest priority, then the one that is due for longest.
SELECT
    j.number, j.kind, j.place, (SELECT id FROM memories WHERE row = j.memory), j.payload,
    j.attempt, j.tries
FROM jobs AS j
WHERE j.dead_at IS NULL AND j.due_at <= ?1 AND j.leased_until <= ?1
    AND j.kind IN (SELECT value FROM json_each(?2))
    AND NOT (j.alone AND EXISTS (
        SELECT 1 FROM jobs AS other
        WHERE other.place = j.place AND other.kind = j.kind AND other.leased_until > ?1
    ))
ORDER BY j.priority DESC, j.due_at, j.number LIMIT 1;

-- name: lease_job
UPDATE jobs SET attempt = attempt + 1, tries = tries + 1, leased_until = ? WHERE number = ?;

-- name: renew_job
UPDATE jobs SET leased_until = ?3 WHERE number = ?1 AND attempt = ?2 AND leased_until > 0
RETURNING kind;

-- name: finish_job
DELETE FROM jobs WHERE number = ?1 AND attempt = ?2 AND leased_until > 0 RETURNING kind;

-- name: give_back_job
UPDATE jobs SET leased_until = 0, tries = tries - 1, due_at = ?3
WHERE number = ?1 AND attempt = ?2 AND leased_until > 0 RETURNING kind;

-- name: retry_job
UPDATE jobs SET leased_until = 0, due_at = ?3, reason = ?4
WHERE number = ?1 AND attempt = ?2 AND leased_until > 0 RETURNING kind;

-- name: bury_job
UPDATE jobs SET leased_until = 0, dead_at = ?3, reason = ?4
WHERE number = ?1 AND attempt = ?2 AND leased_until > 0 RETURNING kind;

-- name: revive_job
UPDATE jobs SET dead_at = NULL, tries = 0, due_at = ?2
WHERE number = ?1 AND dead_at IS NOT NULL RETURNING kind;

-- name: list_jobs
WITH listed AS (
    SELECT
        number, kind, place, memory, priority, tries, due_at, reason, dead_at,
        CASE WHEN dead_at IS NOT NULL THEN 'dead' WHEN leased_until > ?1 THEN 'running'
            ELSE 'waiting' END AS state
    FROM jobs WHERE number > ?2
)
SELECT
    number, kind, state, place, (SELECT id FROM memories WHERE row = memory), priority, tries,
    due_at, reason, dead_at
FROM listed
WHERE (?3 IS NULL OR state = ?3) AND (?4 IS NULL OR kind IN (SELECT value FROM json_each(?4)))
ORDER BY number LIMIT ?5;

-- name: count_jobs
-- By kind and state: how many, how many of them may run now, and when the first may.
SELECT
    kind,
    CASE WHEN dead_at IS NOT NULL THEN 'dead' WHEN leased_until > ?1 THEN 'running'
        ELSE 'waiting' END AS state,
    count(*), sum(due_at <= ?1), min(due_at)
FROM jobs GROUP BY kind, state;

-- name: duties
SELECT kind, done, failed, done_at, failed_at, reason FROM duties ORDER BY kind;

-- name: count_done
INSERT INTO duties (kind, done, failed, done_at, sum) VALUES (?1, 1, 0, ?2, 0)
ON CONFLICT (kind) DO UPDATE SET done = done + 1, done_at = ?2;

-- name: count_failed
INSERT INTO duties (kind, done, failed, failed_at, reason, sum) VALUES (?1, 0, 1, ?2, ?3, 0)
ON CONFLICT (kind) DO UPDATE SET failed = failed + 1, failed_at = ?2, reason = ?3;

-- name: sum_duty
UPDATE duties SET sum = duty_sum(kind, done, failed, done_at, failed_at, reason) WHERE kind = ?;

-- name: insert_tombstone
INSERT INTO tombstones (digest, tenant, at, sum) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: has_tombstone
SELECT 1 FROM tombstones WHERE digest = ? AND tenant = ?;

-- name: make_doomed
-- Rows about to be erased, collected in a temporary table of this connection.
CREATE TEMP TABLE IF NOT EXISTS doomed (row INTEGER PRIMARY KEY, id TEXT, place INTEGER);

-- name: clear_doomed
DELETE FROM temp.doomed;

-- name: doom_ids
INSERT INTO temp.doomed SELECT row, id, place FROM memories
WHERE id IN (SELECT value FROM json_each(?1)) AND place IN (SELECT value FROM json_each(?2))
ON CONFLICT DO NOTHING;

-- name: doom_place
INSERT INTO temp.doomed SELECT row, id, place FROM memories WHERE place = ? ON CONFLICT DO NOTHING;

-- name: doom_rows
INSERT INTO temp.doomed SELECT row, id, place FROM memories
WHERE row IN (SELECT value FROM json_each(?)) ON CONFLICT DO NOTHING;

-- name: doomed_by_place
SELECT place, json_group_array(row) FROM temp.doomed GROUP BY place;

-- name: segments_between
SELECT id, payload FROM segments WHERE place = ? AND first <= ? AND last >= ? ORDER BY id;

-- name: erase_orphaned_once
DELETE FROM once WHERE memory NOT IN (SELECT row FROM memories);

-- name: rows_of_place
SELECT row FROM memories WHERE place = ? ORDER BY row;

-- name: move_memories
UPDATE memories SET place = ?2 WHERE place = ?1;

-- name: move_unsealed
UPDATE unsealed SET place = ?2 WHERE place = ?1;

-- name: move_segments
UPDATE segments SET place = ?2, sum = segment_sum(?2, first, last, members, payload) WHERE place = ?1;

-- name: move_versions
UPDATE versions SET place = ?2, sum = version_sum(what, about, version, ?2, since, until, body)
WHERE what = 'memory' AND place = ?1;

-- name: move_jobs
UPDATE jobs SET place = ?2, sum = job_sum(
    number, kind, ?2, memory, payload, run_at, attempt, leased_until,
    priority, alone, tries, due_at, dead_at, reason
) WHERE place = ?1;

-- name: clashing_keys
-- Items that both places hold under one key.
SELECT o.row FROM memories AS o JOIN memories AS d ON d.kind = o.kind AND d.item_key = o.item_key
WHERE o.place = ? AND d.place = ?;

-- name: groups_to_move
SELECT number, id, name, description, created_at FROM groups WHERE place = ?;

-- name: move_group
UPDATE groups SET place = ?, sum = ? WHERE number = ?;

-- name: move_members
UPDATE OR IGNORE members SET grp = ?2, sum = member_sum(?2, memory, added_at) WHERE grp = ?1;

-- name: drop_members
DELETE FROM members WHERE grp = ?;

-- name: drop_group
DELETE FROM groups WHERE number = ?;

-- name: sessions_to_move
SELECT number, id, kind, metadata, started_at, expires_at FROM sessions WHERE place = ?;

-- name: move_session
UPDATE sessions SET place = ?, sum = ? WHERE number = ?;

-- name: rename_session
UPDATE sessions SET place = ?, id = ?, sum = ? WHERE number = ?;

-- name: rename_session_of_memories
UPDATE memories SET session = ?3 WHERE place = ?1 AND session = ?2;

-- name: doom_children
INSERT INTO temp.doomed SELECT m.row, m.id, m.place FROM memories AS m
JOIN temp.doomed AS d ON m.parent = d.id WHERE true ON CONFLICT DO NOTHING;

-- name: doom_derived
INSERT INTO temp.doomed SELECT m.row, m.id, m.place FROM links AS l
JOIN temp.doomed AS d ON l.target = d.id
JOIN memories AS m ON m.id = l.source
WHERE l.kind = 'derived_from' ON CONFLICT DO NOTHING;

-- name: doomed_count
SELECT count(*) FROM temp.doomed;

-- name: doomed_rows
SELECT row, id, place FROM temp.doomed ORDER BY row;

-- name: orphans
-- Children of doomed memories that stay, with the nearest ancestor that stays.
SELECT m.row, d.id FROM memories AS m JOIN temp.doomed AS d ON m.parent = d.id
WHERE m.row NOT IN (SELECT row FROM temp.doomed) ORDER BY m.row;

-- name: parent_of
SELECT parent FROM memories WHERE id = ?;

-- name: pointing_at_doomed
-- Memories that stay but name a doomed one as their successor.
SELECT m.row FROM memories AS m JOIN temp.doomed AS d ON m.superseded_by = d.id
WHERE m.row NOT IN (SELECT row FROM temp.doomed) ORDER BY m.row;

-- name: erase_accesses
DELETE FROM accesses WHERE memory IN (SELECT row FROM temp.doomed);

-- name: erase_vectors
DELETE FROM vectors WHERE id IN (
    SELECT d.row * 4096 + s.id FROM temp.doomed AS d CROSS JOIN spaces AS s
);

-- name: erase_unsealed
DELETE FROM unsealed WHERE (place, memory) IN (SELECT place, row FROM temp.doomed);

-- name: erase_versions
DELETE FROM versions WHERE what = 'memory' AND about IN (SELECT row FROM temp.doomed);

-- name: erase_links
DELETE FROM links WHERE source IN (SELECT id FROM temp.doomed)
    OR target IN (SELECT id FROM temp.doomed);

-- name: erase_members
DELETE FROM members WHERE memory IN (SELECT row FROM temp.doomed);

-- name: erase_once
DELETE FROM once WHERE memory IN (SELECT row FROM temp.doomed);

-- name: erase_jobs
DELETE FROM jobs WHERE memory IN (SELECT row FROM temp.doomed);

-- name: erase_event_details
UPDATE events SET salt = NULL, detail = NULL
WHERE what IN ('memory', 'link', 'member') AND about IN (SELECT row FROM temp.doomed);

-- name: erase_event_targets
-- Links that started at memories that stay name their targets, also when they were dropped since.
UPDATE events SET salt = NULL, detail = NULL
WHERE what = 'link' AND json_extract(detail, '$.target') IN (SELECT id FROM temp.doomed);

-- name: erase_memories
DELETE FROM memories WHERE row IN (SELECT row FROM temp.doomed);

-- name: erase_place_groups
DELETE FROM groups WHERE place = ?;

-- name: erase_place_members
DELETE FROM members WHERE grp IN (SELECT number FROM groups WHERE place = ?);

-- name: erase_place_sessions
DELETE FROM sessions WHERE place = ?;

-- name: erase_place_profiles
DELETE FROM profiles WHERE place = ?;

-- name: erase_place_profile_versions
DELETE FROM versions WHERE what = 'profile' AND place = ?;

-- name: erase_place_once
DELETE FROM once WHERE place = ?;

-- name: erase_place_jobs
DELETE FROM jobs WHERE place = ?;

-- name: erase_place_segments
DELETE FROM segments WHERE place = ?;

-- name: erase_place_unsealed
DELETE FROM unsealed WHERE place = ?;

-- name: erase_place_event_details
UPDATE events SET salt = NULL, detail = NULL WHERE place = ?;

-- name: any_table
SELECT 1 FROM sqlite_schema LIMIT 1;

-- name: newest_event_time
SELECT at FROM events ORDER BY seq DESC LIMIT 1;

-- name: truncate_log
PRAGMA wal_checkpoint(TRUNCATE);

-- name: check_structure
PRAGMA integrity_check;

-- name: memories_with_digest
-- Every memory with the digest of its last event. The columns in the order of `PACKED`.
SELECT
    m.row, m.place, e.place, e.after, e.salt,
    m.id, m.text, m.created_at, m.updated_at, m.kind, m.tier, m.status,
    m.importance, m.agent, m.session, m.position, m.role, m.speaker, m.parent, m.item_key, m.stage,
    m.stage_changed_at, m.priority, m.source, m.trust, m.occurred_at, m.valid_from, m.valid_to,
    m.expires_at, m.reinforced_at, m.reinforcements, m.superseded_by, m.tags, m.metadata,
    m.version
FROM memories AS m
LEFT JOIN events AS e ON e.seq = (
    SELECT max(seq) FROM events WHERE about = m.row AND what = 'memory'
);

-- name: profiles_with_digest
SELECT
    p.number, p.data, e.after, e.salt,
    p.version IS e.version AND p.updated_at IS e.at AND p.place IS e.place
    AND p.category IS json_extract(e.detail, '$.category')
FROM profiles AS p
LEFT JOIN events AS e ON e.seq = (
    SELECT max(seq) FROM events WHERE about = p.number AND what = 'profile'
);

-- name: all_unsealed
SELECT place, memory FROM unsealed;

-- name: all_segments
SELECT place, payload FROM segments;

-- name: all_memories
SELECT place, row FROM memories;

-- name: sums_places
SELECT tenant, app, kind, name, sum FROM places;

-- name: sums_spaces
SELECT name, dimensions, sum FROM spaces;

-- name: sums_vectors
SELECT memory, space, vector, sum FROM vectors;

-- name: sums_unsealed
SELECT terms, space, code, sum FROM unsealed;

-- name: sums_segments
SELECT place, first, last, members, payload, sum FROM segments;

-- name: sums_versions
SELECT what, about, version, place, since, until, body, sum FROM versions;

-- name: sums_links
SELECT source, kind, target, strength, created_at, sum FROM links;

-- name: sums_groups
SELECT id, place, name, description, created_at, sum FROM groups;

-- name: sums_members
SELECT grp, memory, added_at, sum FROM members;

-- name: sums_sessions
SELECT place, id, kind, metadata, started_at, expires_at, sum FROM sessions;

-- name: sums_once
SELECT place, key, body, memory, at, sum FROM once;

-- name: sums_marks
SELECT mark, memory, sum FROM marks;

-- name: sums_jobs
SELECT
    number, kind, place, memory, payload, run_at, attempt, leased_until,
    priority, alone, tries, due_at, dead_at, reason, sum
FROM jobs;

-- name: sums_duties
SELECT kind, done, failed, done_at, failed_at, reason, sum FROM duties;

-- name: sums_tombstones
SELECT digest, tenant, at, sum FROM tombstones;

-- name: loose_references
PRAGMA foreign_key_check;

-- name: definitions
SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name;

-- name: counters_behind
-- Tables whose counter is behind their rows, so that a number would be given out again.
WITH numbered AS (
    SELECT 'places' AS name, max(id) AS newest FROM places
    UNION ALL SELECT 'memories' AS name, max(row) AS newest FROM memories
    UNION ALL SELECT 'segments' AS name, max(id) AS newest FROM segments
    UNION ALL SELECT 'events' AS name, max(seq) AS newest FROM events
    UNION ALL SELECT 'groups' AS name, max(number) AS newest FROM groups
    UNION ALL SELECT 'sessions' AS name, max(number) AS newest FROM sessions
    UNION ALL SELECT 'profiles' AS name, max(number) AS newest FROM profiles
    UNION ALL SELECT 'jobs' AS name, max(number) AS newest FROM jobs
)
SELECT n.name FROM numbered AS n LEFT JOIN sqlite_sequence AS s ON s.name = n.name
WHERE n.newest IS NOT NULL AND (s.seq IS NULL OR s.seq < n.newest);

-- name: events_with_states
-- Events that were not erased, each with the state that it replaced.
SELECT e.seq, e.what, e.about, e.before, e.after, e.salt, e.detail, e.detail_digest, v.body
FROM events AS e
LEFT JOIN versions AS v
    ON v.what = e.what AND v.about = e.about AND v.version = e.version - 1
WHERE e.salt IS NOT NULL
ORDER BY e.what, e.about, e.seq;

-- name: sums_accesses
SELECT memory, count, last_at, sum FROM accesses;

-- name: counts_by
SELECT p.kind, m.kind, m.tier, m.status, count(*)
FROM memories AS m JOIN places AS p ON p.id = m.place
WHERE p.tenant = ? GROUP BY 1, 2, 3, 4;

-- name: count_tables
SELECT
    (SELECT count(*) FROM places WHERE tenant = ?1),
    (SELECT count(*) FROM events),
    (SELECT count(*) FROM vectors),
    (SELECT count(*) FROM links),
    (SELECT count(*) FROM jobs),
    (SELECT count(*) FROM tombstones WHERE tenant = ?1);

-- name: delete_all_unsealed
DELETE FROM unsealed;

-- name: delete_all_segments
DELETE FROM segments;

-- name: all_place_numbers
SELECT id FROM places ORDER BY id;

-- name: texts_of_place
-- As `MemoryRecord.spoken` has them.
SELECT row, CASE WHEN speaker <> '' THEN speaker || ': ' || text ELSE text END FROM memories WHERE place = ? ORDER BY row;

-- Model clients, agents, charges, budgets

-- name: model_clients
SELECT id, label, provider, model, base_url, key_env, options, active
FROM model_clients WHERE tenant = ? ORDER BY label;

-- name: model_client_id
SELECT id FROM model_clients WHERE tenant = ? AND label = ?;

-- name: put_model_client
INSERT INTO model_clients
    (tenant, label, provider, model, base_url, key_env, options, active, sum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, label) DO UPDATE SET
    provider = excluded.provider, model = excluded.model, base_url = excluded.base_url,
    key_env = excluded.key_env, options = excluded.options, active = excluded.active,
    sum = excluded.sum
RETURNING id;

-- name: delete_model_client
DELETE FROM model_clients WHERE id = ?;

-- name: agents
SELECT
    agents.id, agents.label, type, system_message, thinks.label, remembers.label,
    context, tools, description
FROM agents
JOIN model_clients AS thinks ON thinks.id = agents.model_client_id
LEFT JOIN model_clients AS remembers ON remembers.id = agents.memory_model_client_id
WHERE agents.tenant = ? AND agents.app = ? ORDER BY agents.label;

-- name: agents_of_client
-- Who thinks or remembers with a client: app, label, and which of both.
SELECT app, label, 'model_client' FROM agents WHERE model_client_id = ?1
UNION ALL
SELECT app, label, 'memory_model_client' FROM agents WHERE memory_model_client_id = ?1;

-- name: agent_id
SELECT id FROM agents WHERE tenant = ? AND app = ? AND label = ?;

-- name: put_agent
INSERT INTO agents (
    tenant, app, label, type, system_message, model_client_id, memory_model_client_id,
    context, tools, description, sum
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
    agent_sum(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10))
ON CONFLICT (tenant, app, label) DO UPDATE SET
    type = excluded.type, system_message = excluded.system_message,
    model_client_id = excluded.model_client_id,
    memory_model_client_id = excluded.memory_model_client_id, context = excluded.context,
    tools = excluded.tools, description = excluded.description, sum = excluded.sum
RETURNING id;

-- name: release_memory_client
-- Agents that remembered with a client do so with another from now on.
UPDATE agents SET memory_model_client_id = NULL, sum = agent_sum(
    tenant, app, label, type, system_message, model_client_id, NULL, context, tools, description
) WHERE memory_model_client_id = ?;

-- name: delete_agent
DELETE FROM agents WHERE id = ?;

-- name: insert_charge
INSERT INTO charges (
    tenant, place, session, agent, at, operation, task, purpose, model,
    tokens_in, tokens_out, tokens_cached, money, sum
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
    charge_sum(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13));

-- name: spent_by_tenant
SELECT coalesce(sum(money), 0) FROM charges WHERE tenant = ? AND at >= ?;

-- name: spent_by_place
SELECT coalesce(sum(money), 0) FROM charges WHERE place = ? AND at >= ?;

-- name: spent_by_agent
SELECT coalesce(sum(money), 0) FROM charges WHERE tenant = ? AND agent = ? AND at >= ?;

-- name: costs
-- Sums over the calls of a day that agree in everything that a report can tell apart.
SELECT
    at / 86400000000, coalesce(places.app, ''), places.kind, places.name, session, agent,
    operation, task, purpose, model,
    count(*), sum(tokens_in), sum(tokens_out), sum(tokens_cached),
    coalesce(sum(money), 0), sum(money IS NULL)
FROM charges LEFT JOIN places ON places.id = charges.place
WHERE charges.tenant = ? AND at >= ? AND at < ?
GROUP BY 1, charges.place, session, agent, operation, task, purpose, model
ORDER BY 1, charges.place, session, agent, operation, task, purpose, model;

-- name: budgets
SELECT place, agent, period, money FROM budgets WHERE tenant = ? ORDER BY place, agent;

-- name: put_budget
INSERT INTO budgets (tenant, place, agent, period, money, sum)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (tenant, place, agent) DO UPDATE SET
    period = excluded.period, money = excluded.money, sum = excluded.sum;

-- name: delete_budget
DELETE FROM budgets WHERE tenant = ? AND place = ? AND agent = ?;

-- name: erase_place_charges
-- What was paid stays in the sums; for whom is forgotten.
UPDATE charges SET place = 0, session = NULL, agent = NULL, sum = charge_sum(
    tenant, 0, NULL, NULL, at, operation, task, purpose, model,
    tokens_in, tokens_out, tokens_cached, money
) WHERE place = ?;

-- name: erase_place_budgets
DELETE FROM budgets WHERE place = ?;

-- name: move_charges
UPDATE charges SET place = ?2, sum = charge_sum(
    tenant, ?2, session, agent, at, operation, task, purpose, model,
    tokens_in, tokens_out, tokens_cached, money
) WHERE place = ?1;

-- name: sums_model_clients
SELECT tenant, label, provider, model, base_url, key_env, options, active, sum
FROM model_clients;

-- name: sums_agents
SELECT
    tenant, app, label, type, system_message, model_client_id, memory_model_client_id,
    context, tools, description, sum
FROM agents;

-- name: sums_charges
SELECT
    tenant, place, session, agent, at, operation, task, purpose, model,
    tokens_in, tokens_out, tokens_cached, money, sum
FROM charges;

-- name: sums_budgets
SELECT tenant, place, agent, period, money, sum FROM budgets;

-- name: without_vector
-- Memories behind a row that have no vector in some spaces, whose names come as a JSON list.
SELECT m.row, m.id, p.tenant, p.app, p.kind, p.name
FROM memories AS m JOIN places AS p ON p.id = m.place
WHERE m.row > ?1 AND NOT EXISTS (
    SELECT 1 FROM vectors AS v JOIN spaces AS s ON s.id = v.space
    WHERE v.id BETWEEN m.row * 4096 AND m.row * 4096 + 4095
    AND s.name IN (SELECT value FROM json_each(?2))
)
ORDER BY m.row LIMIT ?3;
