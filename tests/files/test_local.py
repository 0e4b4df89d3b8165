from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import platformdirs
import pytest

from pipeline.errors import OutputError, SettingsError
from pipeline.files import paths as folders
from pipeline.files import sqlite as sqlite_files
from pipeline.files.atomic import check_place, only_writer, replace_text
from pipeline.files.regular import open_regular, read_text, read_toml
from pipeline.files.sqlite import connect, has_log
from tests.cli.conftest import Command, command
from tests.fakes import keep_out_of

__all__ = ["command"]


@pytest.fixture
def pipe(tmp_path: Path, impatient: None) -> Path:
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    return path


def test_a_regular_file_is_opened_and_so_is_a_link_to_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"content")
    (tmp_path / "link").symlink_to("a.txt")
    for name in ("a.txt", "link"):
        with open_regular(tmp_path / name) as file:
            assert file.read() == b"content"
            assert os.get_blocking(file.fileno())


def test_a_pipe_a_device_and_a_folder_are_refused_without_waiting(
    pipe: Path, tmp_path: Path
) -> None:
    for path in (pipe, Path(os.devnull)):
        with pytest.raises(OSError, match=r"^it is not a regular file$"):
            open_regular(path)
        with pytest.raises(OSError, match=r"^it is not a regular file$"):
            read_text(path)
    with pytest.raises(OSError, match=r"^it is a folder$"):
        open_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "nothing")


INTERRUPTED = """
import sys
from itertools import count
from pathlib import Path
from pipeline.files.regular import open_regular

def interrupt(frame, event, _):
    global left
    left -= event == "c_return"
    if left == 0:
        sys.setprofile(None)
        raise SystemExit

for moment in count(1):
    left = moment
    sys.setprofile(interrupt)
    try:
        opened = open_regular(Path(__file__))
        sys.setprofile(None)
        break
    except SystemExit:
        pass
print(moment)
"""


def test_a_signal_while_a_file_is_opened_is_no_error_of_the_file(tmp_path: Path) -> None:
    """To close a descriptor twice would be one, in place of what the signal raised."""
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert int(done.stdout) > 5


def test_a_small_text_may_come_from_a_pipe_that_is_open_already() -> None:
    """So does the shell pass `<(...)`: a name for a pipe that another program writes to."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb"):
        with os.fdopen(writing, "wb") as file:
            file.write(b"key = 1\n")
        assert read_toml(Path(f"/dev/fd/{reading}")) == {"key": 1}


def test_a_small_text_is_not_read_beyond_its_bound(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"1234")
    assert read_text(tmp_path / "a.txt", most=4) == "1234"
    with pytest.raises(OSError, match="it has more than 3 bytes"):
        read_text(tmp_path / "a.txt", most=3)


def test_a_byte_order_mark_is_no_part_of_a_small_text(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("key = 1", "utf-8-sig")
    assert read_toml(tmp_path / "a.toml") == {"key": 1}


def test_endless_nesting_is_not_toml(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("a = " + "[" * 100_000, "utf-8")
    with pytest.raises(ValueError, match="nested too deeply"):
        read_toml(tmp_path / "a.toml")


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize("make", [os.mkfifo, link_to_itself])
@pytest.mark.parametrize(
    "options",
    [
        "run odd.csv",
        "plan odd.csv",
        "run t.csv --config odd.csv",
        "plan t.csv --base-url http://localhost:9 --api-key-file odd.csv",
        "run t.csv --model folder",
        "run t.csv --output odd.csv --overwrite",
        "run t.csv --output its-manifest.csv",
        "train odd.csv --system cpv --output model",
        "train t.csv --system cpv --output folder",
        "evaluate odd.csv --system cpv",
        "evaluate t.csv --system cpv --report odd.csv",
        "codes add unspsc odd.csv",
        "serve --faults odd.csv",
    ],
)
def test_no_command_waits_at_a_named_pipe_or_fails_at_a_circle_of_links(
    command: Command,
    impatient: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: str,
    make: Callable[[Path], None],
) -> None:
    make(tmp_path / "odd.csv")
    (tmp_path / "t.csv").write_text("description,code\nwheat,03111000\n", "utf-8")
    (tmp_path / "folder").mkdir()
    make(tmp_path / "folder" / "model.json")
    make(tmp_path / "its-manifest.csv.manifest.json")
    assert command(*options.split()) == 2
    said = capsys.readouterr().err
    assert said.partition("Error: ")[2].count("\n") == 2
    assert "Traceback" not in said


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


def test_folders_follow_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert folders.state_folder() == tmp_path / "state" / "tender-pipeline"
    assert folders.data_folder() == tmp_path / "data" / "tender-pipeline"


@pytest.mark.parametrize(
    ("function", "folder", "variable"),
    [
        ("user_data_path", "data_folder", "XDG_DATA"),
        ("user_state_path", "state_folder", "XDG_STATE"),
    ],
)
def test_a_user_without_a_home_learns_what_to_set(
    monkeypatch: pytest.MonkeyPatch, function: str, folder: str, variable: str
) -> None:
    def homeless(name: str) -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr(platformdirs, function, homeless)
    with pytest.raises(SettingsError) as refusal:
        getattr(folders, folder)()
    assert variable in refusal.value.hint


def test_the_machines_folder_is_at_home_whatever_the_environment_says_of_state(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert folders.machine_folder().parent.parent.parent == tmp_path


def test_without_a_home_to_write_in_the_machines_folder_is_the_state_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert folders.machine_folder() == tmp_path / "state" / "tender-pipeline"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(tmp_path / "file", 0.0)) as opened:
        yield opened


def test_every_commit_is_synced(connection: sqlite3.Connection) -> None:
    full, on = (2,), (1,)
    assert connection.execute("PRAGMA synchronous").fetchone() == full
    assert connection.execute("PRAGMA fullfsync").fetchone() == on
    assert connection.execute("PRAGMA foreign_keys").fetchone() == on


def test_a_log_is_waited_for_while_another_process_makes_the_file(
    tmp_path: Path, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(connect(tmp_path / "file", 0.0)) as other:
        other.execute("BEGIN IMMEDIATE")
        waited: list[float] = []

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            if len(waited) == 3:
                other.execute("ROLLBACK")

        clock = SimpleNamespace(monotonic=lambda: sum(waited), sleep=sleep)
        monkeypatch.setattr(sqlite_files, "time", clock)
        assert has_log(connection, patience_s=60)
    assert len(waited) == 3
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_log_is_not_waited_for_beyond_the_patience(
    tmp_path: Path, connection: sqlite3.Connection
) -> None:
    with closing(connect(tmp_path / "file", 0.0)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            has_log(connection, patience_s=0)


def test_what_is_in_memory_alone_can_have_no_log() -> None:
    with closing(connect(Path(":memory:"), 0.0)) as connection:
        assert not has_log(connection, patience_s=0)
