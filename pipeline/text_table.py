"""Plain-text tables for terminals: words are left-aligned, numbers right-aligned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["aligned"]


def aligned(
    header: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0
) -> Iterator[str]:
    """Yield the lines of a table whose last ``numbers`` columns are right-aligned."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    words = len(header) - numbers
    for row in (header, *rows):
        cells = [
            cell.ljust(width) if place < words else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
