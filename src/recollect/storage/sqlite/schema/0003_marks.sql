-- Schema 3: marks, by which a write finds the memories that it repeats or contradicts.
--
-- A mark is the number of what a memory says, or of the question that it answers. `sum` is over
-- `mark` and `memory`. What was stored before has none until its text changes.

CREATE TABLE marks (
    place INTEGER NOT NULL,
    mark INTEGER NOT NULL,
    memory INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (place, mark, memory)
) WITHOUT ROWID, STRICT;

CREATE INDEX marks_memory ON marks (memory);
