-- Schema 4: fewer pages for each write, which is what a durable write waits for.
--
-- Marks are found by their place when a memory changes, without an index of their own. The number
-- of a vector says whose it is and of which space. Entries that are not sealed yet are appended,
-- and only their short keys are kept in order.

DROP INDEX marks_memory;

ALTER TABLE vectors RENAME TO vectors_before;

CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories (row),
    space INTEGER NOT NULL REFERENCES spaces (id),
    vector BLOB NOT NULL,
    sum INTEGER NOT NULL
) STRICT;

INSERT INTO vectors (id, memory, space, vector, sum)
SELECT memory * 4096 + space, memory, space, vector, sum FROM vectors_before ORDER BY memory, space;

DROP TABLE vectors_before;

ALTER TABLE unsealed RENAME TO unsealed_before;

CREATE TABLE unsealed (
    place INTEGER NOT NULL,
    memory INTEGER NOT NULL,
    terms BLOB NOT NULL,
    space INTEGER,
    code BLOB,
    sum INTEGER NOT NULL,
    PRIMARY KEY (place, memory)
) STRICT;

INSERT INTO unsealed (place, memory, terms, space, code, sum)
SELECT place, memory, terms, space, code, sum FROM unsealed_before ORDER BY memory;

DROP TABLE unsealed_before;
