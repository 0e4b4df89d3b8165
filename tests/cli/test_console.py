from __future__ import annotations

import io
import logging
import re
import sys

import pytest

from pipeline.cli.output.console import log_to_stderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "line"),
    [
        (io.StringIO(), r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ WARNING the disk is full\n"),
        (Terminal(), r"the disk is full\n"),
    ],
    ids=["file", "terminal"],
)
def test_lines_of_the_log_have_utc_times_and_levels_in_a_file(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, line: str
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TZ", "America/New_York")
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    log_to_stderr()
    logging.getLogger("pipeline.test").warning("the disk is full")
    assert re.fullmatch(line, stream.getvalue())
