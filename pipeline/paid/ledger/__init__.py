"""The ledger: every attempt before it is sent, every answer and price after; one SQLite file."""
