"""What is generated covers all that there is, and what is asked for can be generated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import click
import pytest
from packaging.requirements import Requirement

from generated import ASKED, OF_THE_SITE, PARTS, WRITTEN, rewritten
from generated.commands import all_commands, commands, option_names
from generated.dependencies import EXTRAS, dependencies
from generated.markdown import table
from pipeline.cli.app import COMMANDS
from tests.docs.pages import DOCUMENTS, names


def test_every_command_is_there_with_its_options_their_defaults_and_variables() -> None:
    sections = re.split(r"^##+ ", commands(), flags=re.MULTILINE)[1:]
    by_name = dict(section.split("\n", 1) for section in sections)
    assert {name.split()[0] for name in by_name} == set(COMMANDS)
    for name, command, _ in all_commands():
        for option in command.params:
            if isinstance(option, click.Option):
                items = by_name[name].split(f"\n- `{option_names(option)}`: ")
                assert len(items) == 2, (name, option.opts)
                item = items[1].split("\n")[0]
                default = option.to_info_dict()["default"]
                if isinstance(default, str | int | float) and not isinstance(default, bool):
                    assert default == "" or f"Default: `{default}`" in item, (name, item)
                assert option.envvar is None or f"`{option.envvar}`" in item, (name, item)


def test_every_dependency_is_there_with_the_licence_that_it_states() -> None:
    needs = [Requirement(line) for line in requires("tender-pipeline") or ()]
    named = [one.name for one in needs if one.marker is None or "service" in str(one.marker)]
    lines = {
        name.strip(): [cell.strip() for cell in cells]
        for name, *cells in (line.strip("| ").split("|") for line in dependencies().splitlines())
    }
    assert [name for name in named if name not in {*lines, "tender-pipeline"}] == []
    assert lines["pandas"][0] == "always"
    assert "BSD" in lines["pandas"][2]
    assert lines["starlette"][0] == "service"
    assert "python-dateutil" in lines  # which pandas needs
    assert "pytest" not in lines
    assert {kind for kind, *_ in list(lines.values())[2:]} == {"always", *EXTRAS}


def test_every_path_and_every_field_of_the_interface_is_there() -> None:
    from generated.http_api import description

    text = PARTS["http-paths"]() + PARTS["http-fields"]()
    assert [path for path in description()["paths"] if f"`{path}`" not in text] == []
    schemas = description()["components"]["schemas"]
    named = set()
    for model in ("MatchRequest", "DetailedAnswer", "CompactAnswer"):
        named |= set(_properties(schemas[model]))
    assert {"description", "code", "cost", "finalCost", "apiCost"} <= named
    for field in named:
        assert re.search(rf"`(?:\S+\.)?{field}(?:\[\])?[`.]", text), field


def _properties(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the names of the fields of an object and of the objects in it."""
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from _properties(inner.get("items", inner))


def test_money_in_the_examples_has_no_exponent() -> None:
    assert not re.search(r"\de-\d", PARTS["http-examples"]() + PARTS["http-fields"]())


@pytest.mark.parametrize("part", sorted(PARTS))
def test_every_part_is_asked_for_once(part: str) -> None:
    asked = [name for path in DOCUMENTS for name in ASKED.findall(path.read_text("utf-8"))]
    assert asked.count(part) == 1


@pytest.mark.parametrize("path", DOCUMENTS, ids=names)
def test_the_parts_that_stand_in_a_page_are_those_of_the_code(path: Path) -> None:
    text = path.read_text("utf-8")
    asked = [part for part in ASKED.findall(text) if part not in OF_THE_SITE]
    assert [part for _, part, _ in WRITTEN.findall(text)] == asked
    assert text == rewritten(text), "run: PYTHONPATH=docs/_ext python -m generated"


def test_a_cell_cannot_break_its_table() -> None:
    assert table(["a"], [["x | y\nz"]]).splitlines()[2] == "| x \\| y z |"
