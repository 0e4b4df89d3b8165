"""Buying: an async pool sends the calls that the ledger cannot answer yet."""
