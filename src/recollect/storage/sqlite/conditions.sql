-- name: tags_hold
EXISTS (SELECT 1 FROM json_each(m.tags) AS t WHERE t.value IS ?)

-- name: json_is_there
coalesce(json_type(m.metadata, ?), 'null') <> 'null'

-- name: json_equals
-- Path, types that the value may have, path, value; likewise for the four orders.
coalesce(
    json_type(m.metadata, ?) IN (SELECT value FROM json_each(?))
    AND json_extract(m.metadata, ?) = ?, 0)

-- name: json_gt
coalesce(
    json_type(m.metadata, ?) IN (SELECT value FROM json_each(?))
    AND json_extract(m.metadata, ?) > ?, 0)

-- name: json_gte
coalesce(
    json_type(m.metadata, ?) IN (SELECT value FROM json_each(?))
    AND json_extract(m.metadata, ?) >= ?, 0)

-- name: json_lt
coalesce(
    json_type(m.metadata, ?) IN (SELECT value FROM json_each(?))
    AND json_extract(m.metadata, ?) < ?, 0)

-- name: json_lte
coalesce(
    json_type(m.metadata, ?) IN (SELECT value FROM json_each(?))
    AND json_extract(m.metadata, ?) <= ?, 0)

-- name: json_list_holds_null
coalesce(json_type(m.metadata, ?), '') = 'array'
AND EXISTS (SELECT 1 FROM json_each(m.metadata, ?) AS t WHERE t.type = 'null')

-- name: json_list_holds
-- Path, path, types that the value may have, value.
coalesce(json_type(m.metadata, ?), '') = 'array'
AND EXISTS (
    SELECT 1 FROM json_each(m.metadata, ?) AS t
    WHERE t.type IN (SELECT value FROM json_each(?)) AND t.atom = ?)

-- name: json_text_holds
-- Path, path, part.
coalesce(
    json_type(m.metadata, ?) = 'text' AND instr(json_extract(m.metadata, ?), ?) > 0, 0)
