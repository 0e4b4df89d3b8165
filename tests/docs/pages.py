"""Reads the documents: their tables, their blocks of code and what they name."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = sorted(
    [
        *(path for path in DOCS.rglob("*.md") if "_build" not in path.parts),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    ]
)


def page(name: str) -> str:
    """Return a page of docs/ by its name without the suffix."""
    return (DOCS / f"{name}.md").read_text("utf-8")


def rows(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the table whose header row begins with a heading."""
    table = text.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0]
    return [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in table.splitlines()[2:]
    ]


def blocks(text: str, language: str) -> list[str]:
    """Return the contents of the blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def inline(text: str) -> list[str]:
    """Return what is marked as code within lines."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`\n]+)`", prose)


def names(path: Path) -> str:
    """Return a document's name, for the name of a test."""
    return str(path.relative_to(ROOT))
