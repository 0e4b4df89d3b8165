-- What version 1 of the ledger made of an empty file, word for word.
CREATE TABLE jobs (
    job_id INTEGER PRIMARY KEY,
    endpoint TEXT NOT NULL,
    identity TEXT NOT NULL,
    opened_at REAL NOT NULL,
    closed_at REAL
);
CREATE UNIQUE INDEX one_open_job ON jobs (endpoint, identity) WHERE closed_at IS NULL;

-- The first row of each call in an open job's table: the row that carries the call's cost.
CREATE TABLE first_rows (
    job_id INTEGER NOT NULL REFERENCES jobs,
    system TEXT NOT NULL,
    digest BLOB NOT NULL,
    row_number INTEGER NOT NULL,
    PRIMARY KEY (job_id, system, digest)
) WITHOUT ROWID;

-- One request each. Of the text only its SHA-256 is kept. The times are seconds since 1970.
-- Money is text: SQLite would add it as floating point numbers.
CREATE TABLE attempts (
    attempt_id INTEGER PRIMARY KEY,
    job_id INTEGER NOT NULL REFERENCES jobs,
    system TEXT NOT NULL,
    digest BLOB NOT NULL,
    account TEXT NOT NULL,
    sent_at REAL NOT NULL,
    reserved_usd TEXT NOT NULL,
    state TEXT NOT NULL,
    settled_at REAL,
    error TEXT,
    cost_usd TEXT,
    status INTEGER,
    CHECK ((state = 'sent') = (settled_at IS NULL))
);
CREATE INDEX attempts_of_call ON attempts (digest, system);
CREATE INDEX attempts_of_job ON attempts (job_id);
CREATE INDEX attempts_of_account ON attempts (account, settled_at);

-- The responses that ended a call, compressed by zlib. Apart, so that attempts are read fast.
CREATE TABLE bodies (
    attempt_id INTEGER PRIMARY KEY REFERENCES attempts,
    body BLOB NOT NULL
);

PRAGMA application_id = 1952804452;
PRAGMA user_version = 1;
