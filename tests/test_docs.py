"""The README says what the code does."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

from pipeline.answers import SYSTEMS
from pipeline.classification.columns import new_fields
from pipeline.cli.commands.accounts import accounts
from pipeline.cli.commands.evaluate import evaluate
from pipeline.cli.commands.run import run
from pipeline.cli.commands.serve import serve
from pipeline.cli.signals import HUNG_UP, INTERRUPTED, TERMINATED
from pipeline.cli.telling import COMPLETE, WITH_FAILED_ROWS
from pipeline.codes.shipped import shipped
from pipeline.errors import LedgerError
from pipeline.service.chaos import FORMS, KINDS, read_script
from pipeline.service.chaos.kinds import When
from pipeline.service.http.bodies import MAX_CHARACTERS, METADATA
from pipeline.service.http.requests import MAX_BODY
from pipeline.service.matching.pricing import (
    HIGHEST,
    LOWEST,
    MARKUP_PERCENTAGE,
    MAX_MATCHES,
    MOST_FOR_TITLES,
    PER_CALL,
    PER_MATCH,
    PER_TITLE_CHARACTERS,
)
from pipeline.service.spec.terms import FAILURES
from pipeline.settings import Settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table whose header row begins with a heading."""
    table = README.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]
    ]


def test_the_settings_table_lists_every_option_with_its_default() -> None:
    documented = {cells[0].strip("`").split()[0]: cells[1] for cells in rows("option")}
    options = {p.opts[0]: p for p in run.params if isinstance(p, click.Option)}
    assert list(documented) == list(options)
    for name, option in options.items():
        default = option.to_info_dict()["default"]
        if isinstance(default, str | int | float) and not isinstance(default, bool) and default:
            assert documented[name] == f"`{default}`", name


def test_every_option_has_the_variable_that_the_readme_promises() -> None:
    for option in run.params:
        if isinstance(option, click.Option) and option.name != "config":
            expected = option.opts[0].removeprefix("--").replace("-", "_").upper()
            assert option.envvar == f"TENDER_PIPELINE_{expected}"


def test_the_options_of_evaluate_are_those_of_run_and_these() -> None:
    documented = [cells[0].strip("`").split()[0] for cells in rows("option of `evaluate`")]
    shared = {p.opts[0] for p in run.params if isinstance(p, click.Option)} - set(documented)
    own = [p.opts[0] for p in evaluate.params if isinstance(p, click.Option)]
    assert [name for name in own if name not in shared] == documented
    not_there = {"--output", "--output-format", "--systems", "--top", "--min-confidence"}
    not_there |= {"--column-prefix", "--limit-rows", "--config", "--partial"}
    not_there |= {"--back-off", "--explain", "--fail-if-no-match"}
    assert shared - not_there <= set(own)


def test_the_options_of_serve_are_these() -> None:
    documented = {cells[0].strip("`").split()[0]: cells[1] for cells in rows("option of `serve`")}
    options = {p.opts[0]: p for p in serve.params if isinstance(p, click.Option)}
    assert list(documented) == list(options)
    for name, option in options.items():
        default = option.to_info_dict()["default"]
        if isinstance(default, str | int):
            assert documented[name] == f"`{default}`", name


def test_the_commands_of_accounts_are_these() -> None:
    section = README.split("### Accounts\n", 1)[1].split("\n### ", 1)[0]
    examples = section.split("```sh\n", 1)[1].split("```", 1)[0].splitlines()
    shown = [example.split()[2] for example in examples]
    assert set(shown) == set(accounts.commands)
    for example in examples:
        arguments = shlex.split(example, comments=True)[3:]
        command = accounts.commands[example.split()[2]]
        command.make_context(command.name, arguments)  # takes what is written there


@pytest.mark.parametrize("name", sorted(accounts.commands))
def test_every_option_of_accounts_is_told(name: str) -> None:
    section = README.split("### Accounts\n", 1)[1].split("\n### ", 1)[0]
    for option in accounts.commands[name].params:
        if isinstance(option, click.Option):
            assert re.search(rf"{option.opts[0]}\b", section), option.opts[0]


def test_the_exit_codes_are_these() -> None:
    documented = [int(cells[0]) for cells in rows("exit code")]
    parked = [4, 5, 6, 7, LedgerError.exit_code]
    ended = [HUNG_UP, INTERRUPTED, TERMINATED]
    assert documented == [COMPLETE, 1, 2, WITH_FAILED_ROWS, *parked, *ended]


def test_the_columns_are_these() -> None:
    documented = {cells[0].strip("`") for cells in rows("column")}
    settings = Settings(systems=("cpv",), top=2, explain=True)
    assert documented == {field.name for field in new_fields(settings)}


@pytest.mark.parametrize("place", range(len(SYSTEMS)))
def test_the_counts_of_codes_are_these(place: int) -> None:
    cells = rows("system")[place]
    assert cells[0] == f"`{SYSTEMS[place]}`"
    assert re.split("[,;]? ", cells[2])[0] == f"{len(shipped(SYSTEMS[place])):,}"


def test_the_example_settings_file_is_toml_that_the_command_takes() -> None:
    example = tomllib.loads(README.split("```toml\n", 1)[1].split("```", 1)[0])
    flags = {option.opts[0].removeprefix("--") for option in run.params}
    assert set(example) <= flags


def test_the_faults_are_these() -> None:
    documented = {cells[0]: cells[2] for cells in rows("kind of fault")}
    own = {
        f"`{kind.model_fields['kind'].default}`": ", ".join(
            f"`{field.alias}`"
            for name, field in kind.model_fields.items()
            if name not in When.model_fields and name != "kind"
        )
        for kind in KINDS
    }
    assert documented == own
    section = README.split("## Rehearsing a bad night", 1)[1].split("\n## ", 1)[0]
    names = [field.alias for field in When.model_fields.values()]
    assert [name for name in (*names, *FORMS) if f"`{name}`" not in section] == []


def test_the_example_of_faults_is_a_script(tmp_path: Path) -> None:
    example = README.split("```toml\nseed", 1)[1].split("```", 1)[0]
    path = tmp_path / "night.toml"
    path.write_text(f"seed{example}", "utf-8")
    assert [type(fault).__name__ for fault in read_script(path).fault] == [
        "Latency",
        "DropAfter",
        "Refuse",
    ]


def test_the_version_is_in_the_changelog_or_under_way() -> None:
    assert "## Unreleased" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_errors_of_the_service_are_these() -> None:
    documented = [tuple(cells) for cells in rows("status | `error`")]
    assert documented == [(str(one.status), f"`{one.error}`", one.when) for one in FAILURES]


def test_what_the_service_settles_is_what_it_does() -> None:
    said = dict(rows("left open"))
    assert f"{MAX_CHARACTERS:,} characters" in said["how long a description may be"]
    assert f"{MAX_BODY:,} bytes" in said["how long a description may be"]
    assert f"{MAX_MATCHES} at most" in said["how many matches, in which order"]
    for form in METADATA:
        assert f"`{form}`" in said["which form the costs have"]
    assert (
        f"{PER_CALL} + {PER_MATCH} per match + 1 per {PER_TITLE_CHARACTERS} characters of titles "
        f"(these at most {MOST_FOR_TITLES}), and {MARKUP_PERCENTAGE} % markup: "
        f"{LOWEST.final} USD without matches to {HIGHEST.final} USD"
    ) in said["the price"]
