from __future__ import annotations

from collections import Counter

import click
import pytest
from click.testing import CliRunner

from pipeline.cli.command import GROUPS, OTHER, OptionGroups
from pipeline.cli.commands.doctor import doctor
from pipeline.cli.commands.evaluate import evaluate
from pipeline.cli.commands.run import plan, run
from pipeline.cli.commands.train import train

NEEDED = {train: ["--output", "model"]}
"""What the commands need besides a table."""


@pytest.mark.parametrize("command", [run, plan, doctor])
def test_each_option_is_in_one_group_of_the_help(command: OptionGroups) -> None:
    shown = CliRunner().invoke(command, ["--help"]).output.splitlines()
    options = [p.opts[0] for p in command.params if isinstance(p, click.Option) and not p.hidden]
    listed = [line[line.index("--") :].split()[0] for line in shown if line.startswith("  -")]
    assert Counter(listed) == Counter([*options, "--help"])
    titles = [line.removesuffix(":") for line in shown if line.endswith(":") and line[0] != " "]
    assert titles == [*GROUPS, OTHER]


@pytest.mark.parametrize(
    ("command", "groups"), [(evaluate, ["Table:", "Paid service:"]), (train, ["Table:"])]
)
def test_a_commands_own_options_come_before_those_of_other_commands(
    command: OptionGroups, groups: list[str]
) -> None:
    shown = CliRunner().invoke(command, ["--help"]).output
    assert [line for line in shown.splitlines() if line[-1:] == ":" and line[0] != " "] == [
        "Options:",
        *groups,
    ]
    own, *others = shown.partition("\nOptions:")[2].split("\n\n")
    assert "  --code-column" in own and "--help" in own
    assert "  --sheet" in others[0]


@pytest.mark.parametrize("command", [run, plan])
def test_without_arguments_the_help_is_shown_as_an_error(command: OptionGroups) -> None:
    done, helped = CliRunner().invoke(command, []), CliRunner().invoke(command, ["--help"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == helped.stdout


@pytest.mark.parametrize("command", [run, evaluate, train])
def test_a_setting_is_no_option_and_a_wrong_value_names_its_variable(command: OptionGroups) -> None:
    variables = {"TENDER_PIPELINE_QUOTE_ESCAPE": "x"}
    done = CliRunner().invoke(command, ["t.csv", *NEEDED.get(command, [])], env=variables)
    assert "Invalid value for TENDER_PIPELINE_QUOTE_ESCAPE: 'x' is not one of" in done.stderr
    done = CliRunner().invoke(command, ["t.csv", "--quote-escape", "none"])
    assert "No such option '--quote-escape'." in done.stderr


def test_run_has_at_most_45_options() -> None:
    shown = CliRunner().invoke(run, ["--help"]).output
    assert sum(line.startswith("  -") for line in shown.splitlines()) <= 45
