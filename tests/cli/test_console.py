from __future__ import annotations

import io
import json
import logging
import re
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext

import click
import pytest

from pipeline.cli.output.console import (
    ask,
    log_to_stderr,
    notice,
    print_error,
    progress_display,
    say,
    warn,
)
from pipeline.errors import OutputError
from pipeline.progress import bar, log_lines, silent
from pipeline.purchases import Parked
from tests.cli.conftest import Capture, Terminal

Log = Callable[..., io.StringIO]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    """Begin the log of a command on another standard error."""

    def begin(stream: io.StringIO, as_json: bool = False) -> io.StringIO:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(logging.getLogger(), "handlers", [])
        log_to_stderr(as_json=as_json)
        return stream

    return begin


def test_warnings_notices_and_errors_are_each_one_line_with_a_utc_time_in_a_file(
    monkeypatch: pytest.MonkeyPatch, log: Log
) -> None:
    monkeypatch.setattr(logging.Formatter, "converter", lambda *_: time.gmtime(0))  # local time
    stream = log(io.StringIO())
    warn("odd")
    notice("50 calls to buy")
    logging.getLogger("pipeline.test").info("%s: 3 rows", "line\n  break.csv")
    print_error(OutputError("The disk is full.", "Free some space."))
    print_error(Parked(5, "Stopped after 5 s (--max-duration).", "Run it again."))
    lines = [line.partition(" ") for line in stream.getvalue().splitlines()]
    for at, *_ in lines:
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", at)
    assert [said for *_, said in lines] == [
        "WARNING odd",
        "INFO 50 calls to buy",
        "INFO line break.csv: 3 rows",
        "ERROR The disk is full. Free some space.",
        "ERROR Stopped after 5 s (--max-duration). Run it again.",
    ]


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["file", "terminal"])
def test_no_name_of_a_file_does_anything_to_a_terminal(
    log: Log, capsys: Capture, stream: io.StringIO
) -> None:
    name = "a\x1b]0;b\x07\x9b2J\r.csv"
    log(stream)
    notice(name)
    print_error(OutputError(name, name))
    logging.getLogger("pipeline.test").info(name)
    say(f"{name}\n\tkept")
    shown = r"a\x1b]0;b\x07\x9b2J\x0d.csv"
    assert stream.getvalue().count(shown) == 4
    assert capsys.readouterr().out == f"{shown}\n\tkept\n"
    assert not set(name) & set("\x1b\x07\x9b\r") & set(stream.getvalue())


def test_quiet_shows_errors_only(log: Log) -> None:
    stream = log(Terminal())
    assert progress_display() is bar
    warn("odd")
    assert stream.getvalue() == "Warning: odd\n"
    log_to_stderr(quiet=True)
    assert progress_display() is progress_display(log_lines) is silent
    warn("odd")
    notice("bought")
    logging.getLogger("pipeline.test").warning("the disk is nearly full")
    logging.getLogger("pipeline.test").error("the disk is full")
    assert stream.getvalue() == "Warning: odd\nthe disk is full\n"


@pytest.mark.parametrize(("typed", "answer"), [("y\n", True), ("n\n", False), ("", None)])
def test_a_question_fits_the_terminal_and_its_line_ends_without_an_answer_too(
    monkeypatch: pytest.MonkeyPatch, log: Log, typed: str, answer: bool | None
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    stream = log(Terminal())
    with pytest.raises(click.Abort) if answer is None else nullcontext():
        assert ask(f"{'many calls to buy, ' * 9}\nBuy?") == answer
    *lines, last = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert last == "Buy? [y/N]: "
    assert stream.getvalue().endswith("\n") == (answer is None)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert not ask("Buy?")


def test_each_line_of_a_json_log_is_an_object_with_time_level_event_and_fields(
    monkeypatch: pytest.MonkeyPatch, log: Log
) -> None:
    stream = log(Terminal(), as_json=True)
    assert progress_display() is log_lines
    warn("line 1\nline 2")
    notice("1 call: 0.1 USD")
    monkeypatch.setattr("pipeline.progress.SECONDS_BETWEEN_LINES", {"rows": 0.0})
    with progress_display()(3) as advance:
        advance(2)
    try:
        raise ValueError("odd")
    except ValueError:
        logging.getLogger("pipeline.test").exception("failed")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    for line in lines:
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    warning, noticed, progress, failed = lines
    assert warning == {"level": "warning", "event": "warning", "message": "line 1\nline 2"}
    assert noticed == {"level": "info", "event": "notice", "message": "1 call: 0.1 USD"}
    assert progress.pop("message").startswith("2 of 3 rows, ")
    figures = {"done": 2, "total": 3, "unit": "rows"}
    assert progress == {"level": "info", "event": "progress", **figures}
    assert failed.pop("traceback").endswith("ValueError: odd")
    assert failed == {"level": "error", "event": "log", "message": "failed"}


def test_a_line_does_not_share_the_line_of_the_bar(
    monkeypatch: pytest.MonkeyPatch, log: Log
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    stream = log(Terminal())
    with progress_display()(3) as advance:
        advance(1)
        logging.getLogger("pipeline.test").warning("the service is down")
        advance(2)
    (line,) = (each for each in stream.getvalue().split("\n") if "service is down" in each)
    assert line.split("\r")[-1] == "the service is down"
    assert line.split("\r")[-2].strip() == ""  # the bar was cleared
