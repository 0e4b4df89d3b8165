from __future__ import annotations

import contextlib
import itertools
import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pipeline.errors import OutputError
from pipeline.files import atomic
from pipeline.files.atomic import check_place, only_writer, replace_text
from tests.fakes import keep_out_of


def test_an_interrupt_at_any_instruction_leaves_no_litter(tmp_path: Path) -> None:
    for moment in itertools.count(1):
        interrupt = _InterruptAt(moment)
        with contextlib.suppress(KeyboardInterrupt), interrupt, only_writer(tmp_path / "out.csv"):
            sys.settrace(None)
        assert list(tmp_path.iterdir()) == [], f"instruction {moment}"
        if interrupt.seen < moment:
            break
    assert moment > 100


def test_an_output_in_a_folder_that_may_not_be_entered_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_out_of("theirs", monkeypatch)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match=f"Nothing can be written in {tmp_path}"):
        check_place(tmp_path / "theirs" / "metrics.prom")


class _InterruptAt:
    """Raises `KeyboardInterrupt` before the n-th instruction of entering `only_writer`."""

    def __init__(self, moment: int) -> None:
        self.moment = moment
        self.seen = 0

    def __enter__(self) -> None:
        sys.settrace(self._trace)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in (atomic.__file__, contextlib.__file__):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.seen += 1
            if self.seen == self.moment:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._trace


def test_a_link_in_the_place_of_an_unfinished_output_is_not_followed(tmp_path: Path) -> None:
    """Whoever may write to a shared folder could have a run write to any file of its user."""
    theirs = tmp_path / "theirs"
    theirs.write_text("kept")
    with only_writer(place := tmp_path / "out.csv") as temporary:
        pass
    temporary.symlink_to(theirs)
    with only_writer(place):
        temporary.write_text("a table")
    temporary.symlink_to(theirs)
    replace_text(place, "a page")
    assert (theirs.read_text(), place.read_text()) == ("kept", "a page")
    assert not place.is_symlink()


def test_a_refused_writer_leaves_the_other_writers_file(tmp_path: Path) -> None:
    with only_writer(tmp_path / "out.csv") as temporary:
        with pytest.raises(OutputError, match="Another run"), only_writer(tmp_path / "out.csv"):
            pass
        assert temporary.exists()
    assert not temporary.exists()
