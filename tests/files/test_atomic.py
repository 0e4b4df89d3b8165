from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import OutputError
from pipeline.files.atomic import only_writer


@pytest.mark.parametrize("moment", ["fcntl.flock", "pipeline.files.atomic._is_open_as"])
def test_an_interrupt_while_the_file_is_locked_leaves_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def interrupted(*_: object) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(moment, interrupted)
    with pytest.raises(KeyboardInterrupt), only_writer(tmp_path / "out.csv"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_refused_writer_leaves_the_other_writers_file(tmp_path: Path) -> None:
    with only_writer(tmp_path / "out.csv") as temporary:
        with pytest.raises(OutputError, match="Another run"), only_writer(tmp_path / "out.csv"):
            pass
        assert temporary.exists()
    assert not temporary.exists()
