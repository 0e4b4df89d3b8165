"""Tests of one room use no private name of another, and no test file another.

A test belongs to the room that its folder mirrors: `tests/paid/` may use private names of
`pipeline/paid/`. Tests outside a room's folder may use private names only of the module that they
are named after. Checked are imports, attributes of imported modules and classes, and names in
strings, as in `monkeypatch.setattr`. Attributes of instances are not: their class is unknown here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
DOTTED = re.compile(r"pipeline(?:\.\w+)+")
PRIVATE = re.compile(r"(?<!\w)_(?!_)\w")
"""Is in every source that has a private name; looking for it takes less time than parsing."""

PATCHES = ("setattr", "getattr", "hasattr", "delattr", "object")
"""Functions that take an object and a name: of `monkeypatch`, of `mock.patch` and built in."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def imported(tree: ast.AST) -> dict[str, str]:
    """Return what each imported name of the package stands for."""
    names = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                for alias in aliases:
                    top = alias.name.partition(".")[0]
                    names[alias.asname or top] = alias.name if alias.asname else top
            case ast.ImportFrom(module=str(module), names=aliases):
                names |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in aliases}
    return {name: full for name, full in names.items() if full.split(".")[0] == "pipeline"}


def full_name(node: ast.AST, names: dict[str, str]) -> str | None:
    """Return the dotted name of an imported name or of an attribute of one."""
    match node:
        case ast.Name(id=name):
            return names.get(name)
        case ast.Attribute(value=value, attr=attr):
            owner = full_name(value, names)
            return owner and f"{owner}.{attr}"
    return None


def mentioned(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted names of the package that a test mentions."""
    names = imported(tree)
    yield from names.values()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                yield from (alias.name for alias in aliases)
            case ast.Attribute():
                yield full_name(node, names) or ""
            case ast.Constant(value=str(text)) if DOTTED.fullmatch(text):
                yield text
            case ast.Call(
                func=ast.Name(id=function) | ast.Attribute(attr=function),
                args=[owner, ast.Constant(value=str(name)), *_],
            ) if function in PATCHES:
                yield f"{full_name(owner, names) or ''}.{name}"


def foreign(source: str, room: str) -> set[str]:
    """Return the private names of other rooms that a test in ``tests/<room>/`` mentions."""
    if not PRIVATE.search(source):
        return set()
    return {
        name
        for name in mentioned(ast.parse(source))
        if name.startswith("pipeline.") and not name.startswith(f"pipeline.{room}.")
        if any(map(is_private, name.split(".")))
    }


def test_no_test_uses_a_private_name_of_another_room() -> None:
    found = {}
    for path in sorted(TESTS.rglob("*.py")):
        parts = path.relative_to(TESTS).parts
        room = parts[0] if len(parts) > 1 else path.stem.removeprefix("test_")
        if names := foreign(path.read_text("utf-8"), room):
            found[str(path.relative_to(TESTS))] = sorted(names)
    assert found == {}


def test_what_test_files_share_is_in_none_of_them() -> None:
    shared = re.compile(r"^(?:from|import) tests\.[\w.]*\btest_.*", re.MULTILINE)
    found = {path.name: shared.findall(path.read_text("utf-8")) for path in TESTS.rglob("*.py")}
    assert not any(found.values()), found


@pytest.mark.parametrize(
    "source",
    [
        "from pipeline.tables.csv_table import _is_blank",
        "import pipeline.tables._hidden",
        "from pipeline import tables\ntables._hidden",
        "from pipeline.tables import CsvReader\nCsvReader._records",
        "monkeypatch.setattr('pipeline.tables.csv_table._is_blank', None)",
        "from pipeline.tables import csv_table\nmonkeypatch.setattr(csv_table, '_is_blank', 1)",
    ],
)
def test_each_way_to_a_private_name_is_found(source: str) -> None:
    assert foreign(source, "paid")
    assert not foreign(source, "tables")
