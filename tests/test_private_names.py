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
PRIVATE = re.compile(r"(?<!\w)_(?!_)\w")
"""Is in every source that has a private name; looking for it takes less time than parsing."""

ATTRIBUTES = r"((?:\.\w+)*)(?:,\s*[\"'](\w+))?"
"""What follows a name: its attributes, and one in a string, as in ``setattr``."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def mentioned(source: str) -> Iterator[str]:
    """Yield the dotted names of the package that a test mentions, also within strings."""
    names = {"pipeline": "pipeline"}
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.asname or alias.name: alias.name for alias in aliases}
            case ast.ImportFrom(module=str(module), names=aliases):
                names |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in aliases}
    for name, full in names.items():
        if full.split(".")[0] == "pipeline":
            yield full
            for found in re.finditer(rf"(?<![\w.]){re.escape(name)}{ATTRIBUTES}", source):
                yield f"{full}{found[1]}.{found[2] or ''}".rstrip(".")


def foreign(source: str, room: str) -> set[str]:
    """Return the private names of other rooms that a test in ``tests/<room>/`` mentions."""
    if not PRIVATE.search(source):
        return set()
    return {
        name
        for name in mentioned(source)
        if not name.startswith(f"pipeline.{room}.") and any(map(is_private, name.split(".")))
    }


def test_no_test_uses_a_private_name_of_another_room() -> None:
    found = {}
    for path in sorted({*TESTS.rglob("*.py")} - {Path(__file__)}):
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
