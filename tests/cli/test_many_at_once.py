"""Several files at once with ``--jobs``: the same outputs, and no litter after an interrupt."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from pipeline.classification import batch
from pipeline.classification.inputs import InputFile
from pipeline.files.atomic import only_writer
from tests.cli.conftest import Capture, Command
from tests.cli.several_files import files_in, run, states

Work = Callable[[InputFile], Any]


def carried(work: Work, files: Iterable[InputFile], *_: object) -> Iterator[Any]:
    """Do the work in this process, with everything pickled as for another one, in any order."""
    work = pickle.loads(pickle.dumps(work))
    yield from reversed([pickle.loads(pickle.dumps(work(file))) for file in files])


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use this process in place of the others."""
    monkeypatch.setattr(batch, "as_completed", carried)
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def data(tmp_path: Path) -> list[str]:
    """Return the names of tables in a folder; the last one is the largest."""
    (tmp_path / "data" / "more").mkdir(parents=True)
    tables = {"a.csv": "Roads\n", "b.csv": "Chairs,x\n", "more/c.csv": "Pens\nPencils\nInk\n" * 9}
    for name, rows in tables.items():
        (tmp_path / "data" / name).write_text(f"description\n{rows}")
    return list(tables)


@pytest.mark.usefixtures("here")
def test_files_at_once_have_the_outputs_and_the_summary_of_files_in_turn(
    command: Command, data: list[str], capsys: Capture
) -> None:
    code, figures = run(command, capsys, "data", "--output", "at-once", "--jobs", "2")
    again, in_turn = run(command, capsys, "data", "--output", "in-turn")
    assert code == again == 2
    assert states(figures) == states(in_turn) == ["done", "failed", "done"]
    assert [file["input"] for file in figures["files"]] == [f"data/{name}" for name in data]
    assert figures["files"][1]["error"] == in_turn["files"][1]["error"]
    assert figures["summary"]["systems"] == in_turn["summary"]["systems"]
    assert files_in(Path("at-once")) == [data[0], data[2]]
    for name in files_in(Path("at-once")):
        assert Path("at-once", name).read_bytes() == Path("in-turn", name).read_bytes()
    # The number of processes changes nothing, so nothing is done again.
    done = run(command, capsys, "data", "--output", "at-once")
    assert states(done[1]) == ["skipped", "failed", "skipped"]


def test_an_interrupt_counts_the_files_and_removes_unfinished_outputs(
    command: Command, data: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    def interrupted(work: Work, files: Iterable[InputFile], *_: object) -> Iterator[Any]:
        largest, next_one = islice(files, 2)
        begun.extend([largest.path.name, next_one.path.name])
        yield batch.FileOutcome(largest, "done", 0)
        place = Path(str(next_one.output)).resolve()
        place.parent.mkdir()
        with only_writer(place) as temporary:
            pass
        temporary.write_text("half a table")  # as the killed process left it
        raise KeyboardInterrupt

    monkeypatch.setattr(batch, "as_completed", interrupted)
    assert command("run", "data", "--systems", "psc", "--output", "out", "--jobs", "2") == 130
    assert begun == ["c.csv", "b.csv"], "the largest file begins"
    expected = "Interrupted; 1 of 3 files are done, and the same command continues.\n"
    assert capsys.readouterr().err.endswith(expected)
    assert files_in(Path("out")) == []
