-- Money is text: SQLite would add it as floating point numbers. Times are seconds since 1970.

CREATE TABLE accounts (
    account_id INTEGER PRIMARY KEY,
    opened_at REAL NOT NULL,
    email TEXT UNIQUE,         -- null: opened from the command line, nobody logs in
    password_hash TEXT,        -- null: as above
    balance_usd TEXT NOT NULL
);

-- Keys themselves are not kept. They have 256 random bits, so a plain hash cannot be undone.
CREATE TABLE api_keys (
    key_id INTEGER PRIMARY KEY,
    key_hash BLOB NOT NULL UNIQUE,
    account_id INTEGER NOT NULL REFERENCES accounts,
    name TEXT NOT NULL,
    hint TEXT NOT NULL,        -- its first characters, to tell keys apart
    made_at REAL NOT NULL,
    used_at REAL,              -- of the last charge
    revoked_at REAL
);
CREATE INDEX keys_of_account ON api_keys (account_id);

-- Every change of a balance is one row, written together with the balance.
CREATE TABLE entries (
    entry_id INTEGER PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES accounts,
    at REAL NOT NULL,
    kind TEXT NOT NULL,        -- opening, top-up, charge
    amount_usd TEXT NOT NULL,  -- charges are negative
    balance_usd TEXT NOT NULL, -- after it
    system TEXT,               -- of a charge
    key_id INTEGER REFERENCES api_keys,
    note TEXT NOT NULL
);
CREATE INDEX entries_of_account ON entries (account_id, entry_id);

-- The charges added up, so that a page about a month need not read a million rows.
CREATE TABLE daily_use (
    account_id INTEGER NOT NULL REFERENCES accounts,
    day TEXT NOT NULL,         -- UTC, as 2026-01-31
    system TEXT NOT NULL,
    calls INTEGER NOT NULL,
    usd TEXT NOT NULL,
    PRIMARY KEY (account_id, day, system)
) WITHOUT ROWID;

-- Who is logged in on the pages. Tokens have 256 random bits and are kept as hashes.
CREATE TABLE sessions (
    token_hash BLOB PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES accounts,
    ends_at REAL NOT NULL
) WITHOUT ROWID
