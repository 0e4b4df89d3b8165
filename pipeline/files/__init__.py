"""Atomic, durable writing of files; the user's folders; SQLite files."""
