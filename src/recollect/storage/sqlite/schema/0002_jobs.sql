-- Jobs are tried again later, run in order of priority, and stay when they are given up. A job
-- about the whole store has the place 0.
ALTER TABLE jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
-- 1: not while another of its kind and place runs.
ALTER TABLE jobs ADD COLUMN alone INTEGER NOT NULL DEFAULT 0;
-- Claims since it was queued, or tried again by hand; `attempt` counts all claims and fences.
ALTER TABLE jobs ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
-- When it may run: first at `run_at`, later after a failure.
ALTER TABLE jobs ADD COLUMN due_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN dead_at INTEGER;
-- Why it failed last: the name of an error, never content.
ALTER TABLE jobs ADD COLUMN reason TEXT;
UPDATE jobs SET due_at = run_at;
-- From here on `sum` is over all the other columns.
UPDATE jobs SET sum = job_sum(
    number, kind, place, memory, payload, run_at, attempt, leased_until,
    priority, alone, tries, due_at, dead_at, reason
);

DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (priority DESC, due_at, number) WHERE dead_at IS NULL;
CREATE INDEX jobs_place ON jobs (place, kind);

-- What became of all jobs of a kind so far.
CREATE TABLE duties (
    kind TEXT PRIMARY KEY,
    done INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    done_at INTEGER,
    failed_at INTEGER,
    reason TEXT,
    sum INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
