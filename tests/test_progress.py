from __future__ import annotations

import logging
import sys
from types import SimpleNamespace

import pytest

from pipeline import progress


def test_log_lines_come_now_and_then_with_rate_and_time_left(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 1.0, 11.0, 12.0, 21.5])
    monkeypatch.setattr("pipeline.progress.time.monotonic", lambda: next(clock))
    with caplog.at_level(logging.INFO), progress.log_lines(1000) as advance:
        for _ in range(4):
            advance(100)
    assert caplog.messages == [
        "200 of 1,000 rows, 18 rows/s, 44 s left",
        "400 of 1,000 rows, 19 rows/s, 32 s left",
    ]


def test_more_than_was_announced_leaves_no_time(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 11.0])
    monkeypatch.setattr("pipeline.progress.time.monotonic", lambda: next(clock))
    with caplog.at_level(logging.INFO), progress.log_lines(100) as advance:
        advance(110)
    assert caplog.messages == ["110 of 100 rows, 10 rows/s, 0 s left"]


def test_a_log_line_waits_for_the_first_row(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 11.0, 12.0])
    monkeypatch.setattr("pipeline.progress.time.monotonic", lambda: next(clock))
    with caplog.at_level(logging.INFO), progress.log_lines(24) as advance:
        advance(0)
        advance(12)
    assert caplog.messages == ["12 of 24 rows, 1 rows/s, 12 s left"]


def test_the_bar_counts_to_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.bar(30) as advance:
        advance(10)
        advance(20)
    assert "30/30" in capsys.readouterr().err


def test_silence_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.silent(3) as advance:
        advance(3)
    assert capsys.readouterr() == ("", "")


def notebook(monkeypatch: pytest.MonkeyPatch, shell: object) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def test_a_notebook_gets_a_bar_unasked_if_the_job_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    display = progress.display_for("auto")
    monkeypatch.setattr(progress, "MOMENT", 0.0)
    for shell, shown in ((SimpleNamespace(kernel=1), True), (SimpleNamespace(), False)):
        notebook(monkeypatch, shell)
        with display(30) as advance:
            advance(30)
        assert ("30/30" in capsys.readouterr().err) == shown


def test_a_short_job_and_a_script_show_no_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook(monkeypatch, SimpleNamespace(kernel=1))
    monkeypatch.setattr(progress, "MOMENT", 3600.0)
    with progress.display_for("auto")(30) as advance:
        advance(30)
    monkeypatch.delitem(sys.modules, "IPython")
    with progress.display_for("auto")(30) as advance:
        advance(30)
    assert capsys.readouterr().err == ""
