"""The command line in a folder of its own, and a small table for it."""

from __future__ import annotations

import io
import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main

Command = Callable[..., int]
Capture = pytest.CaptureFixture[str]


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def lines(capsys: Capture) -> list[str]:
    return capsys.readouterr().out.splitlines()


def figures(capsys: Capture) -> Any:
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Run the command line in a folder of its own and return its exit code.

    Its keywords are set as variables.
    """
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object, **settings: object) -> int:
        for name, value in settings.items():
            monkeypatch.setenv(f"TENDER_PIPELINE_{name.upper()}", str(value))
        monkeypatch.setattr(sys, "argv", ["tender-pipeline", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            main()
        return int(exit_.value.code or 0)

    yield call
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "tenders.csv"
    path.write_text(
        "ref,description,title\n007,Road marking,Paint\n008,,\n009,Office chairs,Seat\n"
    )
    return path
