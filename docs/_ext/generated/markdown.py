"""Writes Markdown tables and blocks with arbitrary contents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["block", "code", "first_paragraph", "table"]


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def block(language: str, text: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{text.strip()}\n```"


def code(text: str) -> str:
    """Return text as code within a line."""
    return f"`{text}`"


def first_paragraph(docstring: str | None) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join((docstring or "").split("\n\n", 1)[0].split())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
