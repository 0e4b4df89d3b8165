"""An account's entries one after the other, however many, and what its keys are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pipeline.service.accounts import ApiKey, Entry, Statement

__all__ = ["entries_of", "key_names"]


def entries_of(statement: Statement, account: int, at_once: int = 1000) -> Iterator[Entry]:
    """Give an account's entries, the newest first; entries that come meanwhile are left out.

    Args:
        statement: where they are.
        account: whose.
        at_once: so many are read together.
    """
    before: int | None = None
    while entries := statement.entries(account, at_once, before):
        yield from entries
        before = entries[-1].entry_id


def key_names(keys: Iterable[ApiKey]) -> Mapping[int | None, str]:
    """Return what keys are called; calls without one were made on the page to try."""
    names: dict[int | None, str] = {key.key_id: key.name for key in keys}
    names[None] = ""
    return names
