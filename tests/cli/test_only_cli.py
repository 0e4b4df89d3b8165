"""Only the command line prints and exits; a library must leave both to its caller."""

from __future__ import annotations

import ast
import re
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

NAMES = re.compile(rf"\b({'|'.join(name.rpartition('.')[2] for name in FORBIDDEN | STREAMS)})\b")


def forbidden(source: str) -> list[str]:
    """Return the calls and streams in a module that only the command line may use."""
    if not NAMES.search(source):
        return []  # without the time that it takes to parse
    named = [
        ast.unparse(node.func if isinstance(node, ast.Call) else node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call | ast.Attribute)
    ]
    return [name for name in named if name in FORBIDDEN | STREAMS]


def test_no_module_of_the_library_prints_or_exits() -> None:
    assert len(LIBRARY) > 200
    found = {str(path.relative_to(ROOT)): forbidden(path.read_text("utf-8")) for path in LIBRARY}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "source", [*(f"{name}(1)" for name in sorted(FORBIDDEN)), *sorted(STREAMS)]
)
def test_what_prints_or_exits_is_found(source: str) -> None:
    assert forbidden(source)
