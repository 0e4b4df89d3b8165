"""The summary of a run as a person reads it, and the examples beside it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.answers import BANDS, MEASURED, OK_MEASURED, Answer, Match, Matched, System
from pipeline.classification.summary import Summary, SystemSummary
from pipeline.cli.output.run import MOST, Examples, words_of
from pipeline.files.paths import CloudPath
from pipeline.purchases import Paid, Parked
from pipeline.settings import Settings
from pipeline.tables.arrow import ArrowBatch
from tests.cli.conftest import Terminal
from tests.fakes import read_terminal
from tests.forking import ran

FIGURES = SystemSummary(
    {"ok": 4, "review": 12, "empty": 1},
    Decimal(0),
    {14: 16},
    {"sure": 1, "likely": 3, "doubtful": 12},
)
PAID = Paid(16, Decimal("0.0016"), Decimal(0), 0, 0, Decimal(0))
SUMMARY = Summary(17, {"cpv": FIGURES}, Decimal(0), 1.0, Path("out.csv"), to_check=12)
SETTINGS = Settings()
IN_TESTS = f"In tests, an expert accepted {', '.join(f'{MEASURED[each]} {each}' for each in BANDS)}"
NOT_TO_CHECK = f", and {OK_MEASURED} of those not to check."
UNKNOWN = Settings(roll_up=0.5)
"""How often codes that were rolled up are right has not been measured."""


def test_it_ends_with_what_to_do_next() -> None:
    assert words_of(SUMMARY, SETTINGS).splitlines()[-2:] == [
        "to check: 12 of 17 rows",
        "next: tender-pipeline review out.csv",
    ]
    spaced = replace(SUMMARY, output=Path("my out.csv"))
    assert words_of(spaced, SETTINGS).endswith("next: tender-pipeline review 'my out.csv'")
    assert words_of(replace(SUMMARY, to_check=0), UNKNOWN) == str(SUMMARY)
    shown = words_of(SUMMARY, SETTINGS, Path("r.html"))
    assert "to check: 12 of 17 rows; r.html shows them" in shown
    parked = replace(SUMMARY, parked=Parked(5, "No money.", "Top it up."))
    assert words_of(parked, UNKNOWN) == str(parked)  # what to do is to continue


def test_a_command_stays_in_one_line_of_a_small_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "40")
    long = replace(SUMMARY, output=Path("a folder with a long name/out.csv"))
    *others, command = words_of(long, SETTINGS).splitlines()
    assert command == "next: tender-pipeline review 'a folder with a long name/out.csv'"
    assert max(map(len, others)) <= 40


@pytest.mark.parametrize("output", [None, CloudPath("s3", "bucket", "out.csv")])
def test_a_review_is_suggested_for_files_only(output: CloudPath | None) -> None:
    last = words_of(replace(SUMMARY, output=output), SETTINGS).splitlines()[-1]
    assert last == "to check: 12 of 17 rows"


def test_of_several_files_each_has_a_review(tmp_path: Path) -> None:
    last = words_of(replace(SUMMARY, output=tmp_path), UNKNOWN).splitlines()[-1]
    assert last == f"next: tender-pipeline review FILE, for each file in {tmp_path}"


def test_a_service_marks_nothing_so_doubtful_codes_need_a_threshold() -> None:
    bought = replace(SUMMARY, paid=PAID, to_check=0)
    assert words_of(bought, SETTINGS).splitlines()[-2:] == [
        "next: to mark the doubtful rows, run again with --min-confidence 0.5",
        "(answers that you own are not bought again: their rows then cost 0)",
    ]
    sure: dict[System, SystemSummary] = {"cpv": replace(FIGURES, bands={"sure": 16})}
    assert "next:" not in words_of(replace(bought, systems=sure), SETTINGS)


@pytest.mark.parametrize(
    ("kind", "again", "lasting"),
    [
        ("VALIDATION_ERROR", False, False),
        ("HTTP_413", False, False),
        ("HTTP_422", False, False),
        ("HTTP_404", True, False),
        ("HTTP_503", True, True),
        ("TIMEOUT", True, True),
        ("MALFORMED_RESPONSE", False, True),
        ("TEXT_TOO_ODD", False, True),
    ],
)
def test_what_it_says_about_a_failure_helps(kind: str, again: bool, lasting: bool) -> None:
    """A refused text is refused again; what ended in this run alone needs no option."""
    assert ("same command" in SUMMARY.remedy(kind)) == again
    assert ("--retry-failed" in SUMMARY.remedy(kind)) == lasting


def test_it_says_which_calls_failed_and_what_to_do() -> None:
    statuses = {"ok": 9, "UNCONFIRMED": 1, "TIMEOUT": 1_200}
    figures = replace(FIGURES, statuses=statuses)
    bought = replace(SUMMARY, paid=PAID, systems={"cpv": figures, "psc": figures})
    lines = words_of(bought, SETTINGS).splitlines()
    assert "failed: 2,400 TIMEOUT, 2 UNCONFIRMED" in lines
    assert f"TIMEOUT: {bought.remedy('TIMEOUT')}" in lines
    assert f"UNCONFIRMED: {bought.remedy('UNCONFIRMED')}" in lines
    assert "(answers that you own are not bought again: their rows then cost 0)" in lines
    parked = replace(bought, parked=Parked(5, "No money.", "Top it up."))
    assert "failed: " not in words_of(parked, SETTINGS)  # what to do is to continue


@pytest.mark.parametrize(
    ("settings", "paid", "said"),
    [
        (SETTINGS, None, f"{IN_TESTS} codes{NOT_TO_CHECK}"),
        (Settings(min_confidence=0.4), None, f"{IN_TESTS} codes."),
        (UNKNOWN, None, ""),
        (Settings(roll_up=0.8), None, ""),
        (Settings(models={"my-cpv": "0" * 64}), None, ""),
        (SETTINGS, PAID, "sure, likely, doubtful: by the confidence that the service states"),
    ],
)
def test_below_the_table_it_says_what_the_words_in_it_mean(
    settings: Settings, paid: Paid | None, said: str
) -> None:
    line = words_of(replace(SUMMARY, paid=paid), settings).splitlines()[2]
    assert line == (said or "17 rows in 1.0 s (17 rows/s), 0 USD")
    nothing = replace(SUMMARY, paid=paid, systems={"cpv": replace(FIGURES, bands={})})
    assert said not in words_of(nothing, settings).splitlines()


@pytest.mark.parametrize(("columns", "table"), [("80", True), ("40", False)])
def test_it_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: str, table: bool) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", columns)
    lines = words_of(SUMMARY, SETTINGS).splitlines()
    assert max(map(len, lines)) <= int(columns)
    assert lines[0].startswith("system   sure" if table else "cpv: 1 sure, 3 likely")


SURE, LIKELY = 0.97, 0.7
"""Confidences of two bands in each system."""


def answer(confidence: float, title: str = "Pens") -> Matched:
    return Matched((Match("30192121", title, confidence),))


def batch(texts: list[str]) -> ArrowBatch:
    return ArrowBatch(texts, pa.RecordBatch.from_pydict({"description": texts}))


def shown(rows: dict[str, Answer | None], width: int = 80) -> list[str]:
    examples = Examples(["cpv"])
    for text, one in rows.items():
        examples.observe(batch([text]), {"cpv": [one]})
    return list(examples.lines(width))


def test_the_first_rows_with_a_code_are_shown_each_text_once() -> None:
    rows: dict[str, Answer | None] = {"": None, "12": Matched(()), "Pens": answer(SURE)}
    rows |= {f"more {n}": answer(LIKELY) for n in range(MOST)}
    heading, *lines = shown(rows)
    assert heading.split() == ["text", "code"]
    assert [line.split()[:2] for line in lines] == [["sure", "Pens"], *[["likely", "more"]] * 4]
    assert all(line.endswith("cpv 30192121 Pens") for line in lines)
    assert shown({"": None}) == []
    examples = Examples(["cpv"])
    examples.observe(batch(["Pens", "Pens"]), {"cpv": [answer(SURE), answer(SURE)]})
    assert len(list(examples.lines(80))) == 2


def test_the_systems_take_turns() -> None:
    systems: list[System] = ["cpv", "psc"]
    examples = Examples(systems)
    answers: dict[System, list[Answer | None]] = {system: [answer(SURE)] * 4 for system in systems}
    examples.observe(batch([f"row {n}" for n in range(4)]), answers)
    lines = list(examples.lines(80))[1:]
    assert [line.split()[3] for line in lines] == ["cpv", "psc", "cpv", "psc"]


@pytest.mark.parametrize("width", [40, 80])
def test_lines_fit_the_terminal_and_do_nothing_to_it(width: int) -> None:
    text = "\x1b[2J Ballpoint\npens " + "and more pens " * 9
    lines = shown({text: answer(SURE, "Pens " * 30)}, width)
    assert max(map(len, lines)) <= width
    assert "\x1b" not in lines[1]
    assert lines[1].count("…") == 2  # of the text, and of the title


def test_only_a_terminal_shows_them(tmp_path: Path, table: Path) -> None:
    assert ran(["run", table], cwd=tmp_path).stdout.startswith("system ")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "pipeline", "run", str(table), "--overwrite"]
    subprocess.run(command, cwd=tmp_path, stdout=theirs, stderr=subprocess.DEVNULL, check=True)
    os.close(theirs)
    said = read_terminal(ours)
    assert said.lstrip().startswith("text")
    assert said.index("code") < said.index("system")
