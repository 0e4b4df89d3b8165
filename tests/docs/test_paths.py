"""Every file, command, option, link and picture that a document names exists."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import pipeline
from generated.commands import all_commands
from pipeline.cli.app import app
from pipeline.cli.commands.accounts import accounts
from pipeline.cli.commands.ledger import ledger
from pipeline.cli.commands.run import run
from pipeline.service.chaos.faults import read_script
from tests.docs.pages import DOCS, DOCUMENTS, ROOT, blocks, inline, names, page, parse, rows

FOLDERS = (
    *("pipeline", "workshop/", "tests", "scripts", "docs", "benchmarks", "sample_inputs", ".ci"),
)

OF_OTHERS = {"--depth", "--quiet", "--keep-going"}
"""Options of pip and Sphinx."""

STATION = re.compile(r"^\d+\. .*(?:\n   .*)*", re.MULTILINE)


def named_paths(text: str) -> list[str]:
    marked = [code.split()[0] for code in inline(text) if code.startswith(FOLDERS)]
    return [path for path in marked if "/" in path and "_build" not in path]


@pytest.mark.parametrize("document", DOCUMENTS, ids=names)
def test_every_file_that_is_named_run_or_linked_exists(document: Path) -> None:
    text = document.read_text("utf-8")
    for path in named_paths(text):
        assert list(ROOT.glob(path.rstrip("/"))), path
    for module in re.findall(r"python -m (benchmarks\.\w+)", text):
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), module
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (document.parent / target).exists(), target


def test_everything_of_the_package_that_a_comment_or_docstring_names_exists() -> None:
    for folder in ("pipeline", "workshop", "tests", "scripts", "benchmarks"):
        for source in (ROOT / folder).rglob("*.py"):
            text = source.read_text("utf-8")
            for path in re.findall(r"`(pipeline/[\w/]+\.\w+)`", text):
                assert (ROOT / path).exists(), (source, path)
            for name in re.findall(r"`(pipeline(?:\.\w+)+)`", text):
                pkgutil.resolve_name(name)  # else ImportError or AttributeError


def test_every_benchmark_is_named_in_a_document() -> None:
    documents = [*DOCUMENTS, ROOT / "sample_inputs" / "README.md"]
    named = {code for path in documents for code in inline(path.read_text("utf-8"))}
    for path in (ROOT / "benchmarks").glob("*.py"):
        command = f"python -m benchmarks.{path.stem}".removesuffix(".__main__")
        if "parser_for(__file__" in path.read_text("utf-8"):
            assert any(f"{code} ".startswith(f"{command} ") for code in named), command


@pytest.mark.parametrize("document", DOCUMENTS, ids=names)
def test_every_option_that_is_named_exists(document: Path) -> None:
    known = {
        name
        for _, command, _ in all_commands()
        for option in command.params
        if isinstance(option, click.Option)
        for name in option.opts
    }
    named = {
        option
        for code in inline(document.read_text("utf-8"))
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", code)
    }
    assert named <= known | OF_OTHERS | {"--help", "--debug"}


def test_where_to_change_things_names_a_file_and_a_test_each() -> None:
    table = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Where do I change", 1)[1]
    lines = [line for line in table.splitlines() if line.startswith("| ")][2:]
    assert len(lines) >= 5
    for line in lines:
        _, where, tests = line.strip("|").split("|")
        assert named_paths(where) and named_paths(tests), line


def test_the_architecture_has_every_room() -> None:
    rooms = page("architecture").split("## The rooms", 1)[1].split("\n## ", 1)[0]
    for folder in (ROOT / "pipeline").iterdir():
        if (folder / "__init__.py").is_file():
            assert f"`pipeline/{folder.name}`" in rooms, folder.name


@pytest.mark.parametrize("way", ["The path of a data frame", "The path of a paid call"])
def test_each_station_of_a_way_through_the_code_names_modules_and_what_is_in_them(way: str) -> None:
    section = page("architecture").split(f"## {way}", 1)[1].split("\n## ", 1)[0]
    stations = STATION.findall(section)
    assert 10 < len(stations) <= 16
    for station in stations:
        paths = [path for path in named_paths(station) if path.endswith(".py")]
        assert paths, station
        source = "".join((ROOT / path).read_text("utf-8") for path in paths)
        for code in inline(station):
            name = code.rpartition(".")[2]
            if name.isidentifier() and "/" not in code:
                assert re.search(rf"\b{name}\b", source), (station, code)


PICTURES = DOCS / "_static" / "pictures"

SMALL = 150_000
"""Bytes; a picture of a page at its usual size has less."""


def test_every_picture_is_shown_and_every_picture_that_is_shown_exists() -> None:
    texts = [path.read_text("utf-8") for path in DOCUMENTS]
    shown = {name for text in texts for name in re.findall(r"_static/pictures/([\w-]+\.png)", text)}
    assert shown == {path.name for path in PICTURES.iterdir()}
    assert shown == {path.name for path in DOCS.rglob("_static/**/*.png")}


def test_every_picture_says_what_it_shows_and_is_small() -> None:
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        assert text.count("```{image}") == len(re.findall(r"^:alt: \w.{15,}", text, re.M)), path
        assert re.search(r"!\[.{0,15}\]", text) is None, path
    assert [path.name for path in PICTURES.iterdir() if path.stat().st_size > SMALL] == []


def test_a_picture_for_a_light_page_has_one_for_a_dark_page() -> None:
    for path in DOCUMENTS:
        found = re.findall(
            r"pictures/(\w+)-(light|dark)\.png\n:alt.*\n(?::width.*\n)?:class: only-(\w+)",
            path.read_text("utf-8"),
        )
        outside = path.read_text("utf-8").count("](docs/_static/")  # as in the README
        assert len(found) + outside == path.read_text("utf-8").count(".png")
        pairs = [(name, scheme) for name, scheme, only in found if scheme == only]
        assert len(pairs) == len(found)
        light = [name for name, scheme in pairs if scheme == "light"]
        assert light == [name for name, scheme in pairs if scheme == "dark"]


README = (ROOT / "README.md").read_text("utf-8")

FIRST = (
    "python3 -m venv .venv && .venv/bin/pip install --quiet -e '.[dev]' "
    "&& .venv/bin/tender-pipeline run sample_inputs/tenders.csv\n"
)
SECOND = ".venv/bin/python -m pytest\n"


def test_the_readme_is_one_page() -> None:
    assert len(README.split()) <= 750


def test_the_first_blocks_are_the_commands_that_the_checks_run() -> None:
    assert blocks(README, "[a-z]+")[:2] == [FIRST, SECOND]
    assert blocks(README, "sh")[:2] == [FIRST, SECOND]


def test_the_figures_are_those_of_the_explanation() -> None:
    text = page("explanation/accuracy")
    accepted = {cells[0]: cells for cells in rows(text, "system")}
    for system, *figures in rows(README, "system"):
        assert figures == [accepted[system][i] for i in (1, 3, 6)]


def test_every_page_can_be_reached_from_the_readme() -> None:
    linked = [path.stem for path in (ROOT / "docs").glob("*.md") if f"docs/{path.name}" in README]
    assert set(linked) >= {"tutorial", "architecture", "operations"}
    for group in ("how-to", "reference", "explanation"):
        index = page(f"{group}/index")
        for path in (ROOT / "docs" / group).glob("*.md"):
            assert path.stem == "index" or f"\n{path.stem}\n" in index, path


def test_the_changelog_has_a_section_for_what_is_under_way() -> None:
    assert "## Unreleased" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def examples(text: str) -> list[list[str]]:
    """Return the arguments of each ``tender-pipeline`` in the shell's blocks."""
    found = []
    for block in blocks(text, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(re.split(" [<>] ", line)[0], comments=True)
            while words and "=" in words[0]:  # variables
                del words[0]
            if words[:1] == ["tender-pipeline"] and words[1:]:  # alone, it prints help
                found.append(words[1:])
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=names)
def test_every_command_that_is_shown_is_understood(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    needed = ("FILE.xlsx", "tender-pipeline.toml", "nightly.toml")  # to be understood
    for name in needed:
        Path(name).touch()
    for arguments in examples(document.read_text("utf-8")):
        parse(app, arguments, None)


@pytest.mark.parametrize(("name", "group"), [("how-to/serve", accounts), ("how-to/ledger", ledger)])
def test_every_command_of_a_group_is_shown(name: str, group: click.Group) -> None:
    shown = {words[1] for words in examples(page(name)) if words[0] == group.name}
    assert shown == set(group.commands)


def test_every_command_of_the_code_tables_is_shown() -> None:
    codes = app.get_command(click.Context(app), "codes")
    assert isinstance(codes, click.Group)
    text = page("how-to/code-tables")
    assert [name for name in codes.commands if f"tender-pipeline codes {name}" not in text] == []


def test_every_settings_file_is_one_that_run_takes() -> None:
    options = {option.opts[0].removeprefix("--") for option in run.params}
    shown = [blocks(page(name), "toml") for name in ("reference/settings", "tutorial")]
    assert [len(each) for each in shown] == [1, 1]
    example = DOCS / "examples" / "every-night" / "tender-pipeline.toml"
    for text in (*map("".join, shown), example.read_text("utf-8")):
        assert set(tomllib.loads(text)) <= options


def test_the_example_of_faults_is_a_script(tmp_path: Path) -> None:
    (example,) = blocks(page("how-to/rehearse-faults"), "toml")
    path = tmp_path / "night.toml"
    path.write_text(example, "utf-8")
    assert [fault.kind for fault in read_script(path).fault] == [
        "latency",
        "drop-after",
        "refuse",
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=names)
def test_every_call_from_python_has_arguments_that_exist(document: Path) -> None:
    for example in blocks(document.read_text("utf-8"), "python"):
        for function, call in calls(example):
            known = inspect.signature(getattr(pipeline, function)).parameters
            assert {word.arg for word in call.keywords} <= set(known), function


def calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield what is called of the package."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "pipeline"
        ):
            yield node.func.attr, node
