"""Lines of the log while a progress bar is shown."""

from __future__ import annotations

import logging
import sys

import pytest

from pipeline.cli.output.console import log_to_stderr, progress_display
from tests.cli.terminal import Terminal


def test_a_line_does_not_share_the_line_of_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    log_to_stderr()
    with progress_display()(3) as advance:
        advance(1)
        logging.getLogger("pipeline.test").warning("the service is down")
        advance(2)
    (line,) = (each for each in stream.getvalue().split("\n") if "service is down" in each)
    assert line.split("\r")[-1] == "the service is down"
    assert line.split("\r")[-2].strip() == ""  # the bar was cleared
