-- Model clients and agents as data, and what calls of models took.

-- How models are reached. Of a key only the name of the environment variable is kept.
CREATE TABLE model_clients (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    label TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    base_url TEXT,
    key_env TEXT,
    options TEXT NOT NULL,
    active INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    UNIQUE (tenant, label)
) STRICT;

-- Agents: what they are told, and the models that they think and remember with.
CREATE TABLE agents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    app TEXT NOT NULL,
    label TEXT NOT NULL,
    type TEXT NOT NULL,
    system_message TEXT NOT NULL,
    model_client_id INTEGER NOT NULL REFERENCES model_clients (id),
    memory_model_client_id INTEGER REFERENCES model_clients (id),
    context TEXT NOT NULL,
    tools TEXT NOT NULL,
    description TEXT,
    sum INTEGER NOT NULL,
    UNIQUE (tenant, app, label)
) STRICT;

CREATE INDEX agents_model_client ON agents (model_client_id);
CREATE INDEX agents_memory_model_client ON agents (memory_model_client_id)
    WHERE memory_model_client_id IS NOT NULL;

-- The ledger: one row per call of a model or an embedder. Money is in billionths of a dollar, NULL
-- where nobody knows the price. The place is 0, and session and agent are gone, once whoever the
-- call was for was erased.
CREATE TABLE charges (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    place INTEGER NOT NULL,
    session TEXT,
    agent TEXT,
    at INTEGER NOT NULL,
    operation TEXT NOT NULL,
    task TEXT NOT NULL,
    purpose TEXT NOT NULL,
    model TEXT NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    tokens_cached INTEGER NOT NULL,
    money INTEGER,
    sum INTEGER NOT NULL
) STRICT;

-- What was spent is asked for before every call.
CREATE INDEX charges_tenant ON charges (tenant, at, money);
CREATE INDEX charges_place ON charges (place, at, money);
CREATE INDEX charges_agent ON charges (tenant, agent, at, money) WHERE agent IS NOT NULL;

-- How much may be spent: by a tenant (place 0, no agent), by a user (a place), by an agent.
CREATE TABLE budgets (
    tenant TEXT NOT NULL,
    place INTEGER NOT NULL,
    agent TEXT NOT NULL,
    period TEXT NOT NULL,
    money INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (tenant, place, agent)
) WITHOUT ROWID, STRICT;
