from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.errors import OutputError
from pipeline.files.atomic import check_place, only_writer, replace_text
from tests.fakes import keep_out_of


def test_an_output_in_a_folder_that_may_not_be_entered_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_out_of("theirs", monkeypatch)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match=f"Nothing can be written in {tmp_path}"):
        check_place(tmp_path / "theirs" / "metrics.prom")


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
