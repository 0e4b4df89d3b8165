"""Writes names from files, counts, and tables for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

LONGEST = 40
"""Characters of a name that a message quotes."""

MOST = 20
"""Names that a message lists."""

CONTROLS = {
    each: f"\\x{each:02x}" for each in (*range(32), *range(127, 160)) if chr(each) not in "\n\t"
}
"""How control characters are shown."""


def command(*words: str | Path) -> str:
    """Return a command of this tool for a person to run: ``tender-pipeline review out.csv``.

    Args:
        words: what follows the tool's name: words as they are, and paths.
    """
    arguments = (in_shell(each) if isinstance(each, Path) else each for each in words)
    return " ".join(["tender-pipeline", *arguments])


def in_shell(path: object) -> str:
    """Return a path as an argument in a shell: quoted, and never taken for an option."""
    text = str(path)
    return quote(f"./{text}" if text.startswith("-") else text)


def how_many(number: int, noun: str) -> str:
    """Return a count with its noun: ``1 row``, ``1,200 rows``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def cut(text: str) -> str:
    """Return a text, shortened if it is long."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def quoted(name: str) -> str:
    """Return a name in quotes, shortened if it is long."""
    return repr(name) if len(name) <= LONGEST else f"{name[:LONGEST]!r}..."


def listed(names: Sequence[str]) -> str:
    """Return names in quotes, separated by commas; of many, the first ones and a count."""
    return first_of([*map(quoted, names)], MOST)


def first_of(parts: Sequence[str], most: int) -> str:
    """Return parts separated by commas; of many, the first ones and how many more there are."""
    more = len(parts) - most
    return ", ".join(parts[:most]) + (f" and {more:,} more" if more > 0 else "")


def visible(text: str) -> str:
    """Return a text with its control characters shown, so that no terminal obeys them.

    The name of a file may have them, and strangers name the tables of an archive or a folder.
    """
    return text.translate(CONTROLS)


def readable(text: str, most: int = 40) -> str:
    """Return a foreign text as one short line without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= most else f"{line[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def aligned(
    header: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0, gap: int = 2
) -> Iterator[str]:
    """Yield the lines of a table whose last ``numbers`` columns are right-aligned.

    There are ``gap`` spaces between two columns.
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    words = len(header) - numbers
    for row in (header, *rows):
        cells = [
            cell.ljust(width) if place < words else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield (" " * gap).join(cells).rstrip()
