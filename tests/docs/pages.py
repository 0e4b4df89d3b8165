"""Reads the documents: their tables, blocks of code, commands and what they name."""

from __future__ import annotations

import re
from pathlib import Path

import click

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


def parse(command: click.Command, arguments: list[str], parent: click.Context | None) -> None:
    """Parse the arguments of a command or of its subcommand; wrong ones raise click's error."""
    if isinstance(command, click.Group) and arguments:
        context = click.Context(command, parent, command.name)
        child = command.get_command(context, arguments[0])
        assert child is not None, arguments
        parse(child, arguments[1:], context)
    else:
        command.make_context(command.name, list(arguments), parent=parent)
