"""What of an account's entries several pages show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from pipeline.service.accounts import ApiKey, Entry, Statement

__all__ = ["key_names", "last_charges"]


def last_charges(statement: Statement, account: int, most: int) -> list[Entry]:
    """Return the last charges of an account, the newest first."""
    charges = (entry for entry in _backwards(statement, account, most) if entry.kind == "charge")
    return list(islice(charges, most))


def key_names(keys: Iterable[ApiKey]) -> Mapping[int, str]:
    """Return what keys are called, by their numbers."""
    return {key.key_id: key.name for key in keys}


def _backwards(statement: Statement, account: int, at_once: int) -> Iterator[Entry]:
    before: int | None = None
    while entries := statement.entries(account, at_once, before):
        yield from entries
        before = entries[-1].entry_id
