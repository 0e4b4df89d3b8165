"""A terminal shows a few coded rows before the figures."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.answers import Answer, Match, Matched, System
from pipeline.cli.output.run import MOST, Examples
from pipeline.tables.arrow import ArrowBatch
from tests.fakes import read_terminal
from tests.forking import ran

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
