"""Only the command line prints and exits; a library must leave both to its caller."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pipeline

ROOT = Path(pipeline.__file__).parent
LIBRARY = sorted(
    path
    for path in ROOT.rglob("*.py")
    if path.relative_to(ROOT).parts[0] not in ("cli", "__main__.py")
)
FORBIDDEN = {
    "print",
    "input",
    "exit",
    "quit",
    "sys.exit",
    "os._exit",
    "click.echo",
    "click.confirm",
}
STREAMS = {"sys.stdin", "sys.stdout"}
"""Standard error is the log's, which the service sets up itself."""


def forbidden(source: str) -> list[str]:
    """Return the calls and streams in a module that only the command line may use."""
    named = [
        ast.unparse(node.func if isinstance(node, ast.Call) else node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call | ast.Attribute)
    ]
    return [name for name in named if name in FORBIDDEN | STREAMS]


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_of_the_library_neither_prints_nor_exits(path: Path) -> None:
    assert forbidden(path.read_text("utf-8")) == []


@pytest.mark.parametrize("source", ["print(1)", "sys.exit(2)", "click.echo('a')", "sys.stdout"])
def test_what_prints_or_exits_is_found(source: str) -> None:
    assert forbidden(source)
