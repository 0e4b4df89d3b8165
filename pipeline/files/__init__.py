"""Files put in place atomically and durably, the user's directories, and SQLite files."""
