"""What a ledger can be read from: the open file of a run, or a snapshot of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

__all__ = ["Source"]


class Source(Protocol):
    """Something that answers queries; both `Database` and `Snapshot` do."""

    def rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Read.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        ...
