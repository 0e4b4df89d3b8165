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
from pipeline.cli.output.examples import MOST, Examples
from pipeline.tables import ArrowBatch
from tests.fakes import read_terminal
from tests.forking import ran

SURE, LIKELY, DOUBTFUL = 0.97, 0.7, 0.01
"""A confidence of each band in each system."""


def answer(confidence: float, title: str = "Pens") -> Matched:
    return Matched((Match("30192121", title, confidence),))


def batch(texts: list[str]) -> ArrowBatch:
    return ArrowBatch(texts, pa.RecordBatch.from_pydict({"description": texts}))


def shown(rows: dict[str, Answer | None], width: int = 80) -> list[str]:
    examples = Examples(["cpv"])
    for text, one in rows.items():
        examples.observe(batch([text]), {"cpv": [one]})
    return list(examples.lines(width))


def test_each_band_has_an_example_and_the_surer_ones_come_first() -> None:
    rows: dict[str, Answer | None] = {f"doubtful {n}": answer(DOUBTFUL) for n in range(20)}
    rows |= {"likely 1": answer(LIKELY), "sure 1": answer(SURE), "sure 2": answer(SURE)}
    heading, *lines = shown(rows)
    assert heading.split() == ["text", "code"]
    assert len(lines) == MOST
    assert [line.split()[:3] for line in lines[:3]] == [
        ["sure", "sure", "1"],
        ["sure", "sure", "2"],
        ["likely", "likely", "1"],
    ]
    assert all(line.startswith("doubtful  doubtful") for line in lines[3:])
    assert all(line.endswith("cpv 30192121 Pens") for line in lines)


def test_a_text_is_shown_once_and_rows_without_a_code_never() -> None:
    examples = Examples(["cpv"])
    examples.observe(batch(["Pens", "Pens"]), {"cpv": [answer(SURE), answer(SURE)]})
    examples.observe(batch(["", "12"]), {"cpv": [None, Matched(())]})
    assert len(list(examples.lines(80))) == 2
    assert shown({"": None}) == []


def test_texts_that_begin_alike_show_what_speaks_for_the_code() -> None:
    same = "Tenderers must register before the closing date and send all documents. " * 3
    examples = Examples(["cpv"])
    texts = [same + "Twenty pens.", same + "One oak desk.", same + "Lifts."]
    examples.observe(batch(texts), {"cpv": [answer(SURE)] * 3})
    lines = [line.split("cpv")[0] for line in examples.lines(80)]
    assert ["pens" in lines[1], "desk" in lines[2], "Lifts" in lines[3]] == [True] * 3


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
    assert lines[1].count("…") == 3  # before and after the excerpt, and of the title


def test_only_a_terminal_shows_them(tmp_path: Path, table: Path) -> None:
    assert ran(["run", table], cwd=tmp_path).stdout.startswith("system ")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "pipeline", "run", str(table), "--overwrite"]
    subprocess.run(command, cwd=tmp_path, stdout=theirs, stderr=subprocess.DEVNULL, check=True)
    os.close(theirs)
    said = read_terminal(ours)
    assert said.lstrip().startswith("text")
    assert said.index("code") < said.index("system")
