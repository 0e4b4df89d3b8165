"""What a shell completes."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from pipeline.cli.app import app

NAME, VARIABLE = "tender-pipeline", "_TENDER_PIPELINE_COMPLETE"


def completed(*words: str) -> list[tuple[str, str]]:
    *before, last = words
    found = ShellComplete(app, {}, NAME, VARIABLE).get_completions(before, last)
    return [(item.type, item.value) for item in found]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["led"], ["ledger"]),
        (["ledger", "j"], ["jobs"]),
        (["run", "--max-cost-"], ["--max-cost-per-day", "--max-cost-per-month"]),
    ],
)
def test_commands_options_and_values_are_completed(words: list[str], expected: list[str]) -> None:
    assert completed(*words) == [("plain", word) for word in expected]
