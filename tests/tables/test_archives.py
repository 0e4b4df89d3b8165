"""A ZIP archive with one table is read like the table."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from pipeline.errors import InputError
from pipeline.tables import is_archive, streams
from pipeline.tables.streams import unpacked
from tests.cli.conftest import Command, command

__all__ = ["command"]


def archive(path: Path, **files: str) -> Path:
    with ZipFile(path, "w") as file:
        for name, content in files.items():
            file.writestr(name.replace("__DOT__", ".").replace("__IN__", "/"), content)
    return path


def test_the_table_of_an_archive_is_read_and_the_output_is_a_table(
    command: Command, tmp_path: Path
) -> None:
    more = {"README__DOT__txt": "x", "__MACOSX__IN__.t__DOT__csv": "x"}
    archive(tmp_path / "all.ZIP", data__IN__t__DOT__csv="description\nRoads\n", **more)
    assert command("run", "all.ZIP", "--systems", "psc") == 0
    lines = Path("outputs/t.classified.csv").read_text().splitlines()
    assert lines[1].startswith("Roads,")


def test_an_error_in_the_table_names_the_archive(tmp_path: Path) -> None:
    path = archive(tmp_path / "t.zip", t__DOT__csv="a\n")
    assert is_archive(path)
    with pytest.raises(InputError) as caught, unpacked(path) as copy:
        raise InputError(f"{copy} is bad.", "")
    assert caught.value.message == f"{path} (t.csv) is bad."
    assert not copy.parent.exists()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "has no table."),
        ({"a__DOT__txtx": ""}, "has no table."),
        ({"a__DOT__csv": "", "b__DOT__jsonl": ""}, "has 2 tables: 'a.csv', 'b.jsonl'."),
    ],
)
def test_an_archive_needs_exactly_one_table(
    tmp_path: Path, files: dict[str, str], message: str
) -> None:
    path = archive(tmp_path / "t.zip", **files)
    with pytest.raises(InputError, match=r"t\.zip") as caught, unpacked(path):
        pass
    assert caught.value.message.endswith(message)


def test_a_damaged_archive_is_an_error(tmp_path: Path) -> None:
    path = archive(tmp_path / "t.zip", t__DOT__csv="a\n" * 99)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(InputError, match="cannot be unpacked"), unpacked(path):
        pass


def test_a_table_that_is_called_an_archive_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.zip").write_text("a,b\n")
    with pytest.raises(InputError, match="cannot be unpacked: File is not a zip file") as caught:
        unpack(tmp_path / "t.zip")
    assert "rename it without .zip" in str(caught.value.hint)


def test_a_table_that_would_fill_the_disk_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.zip"
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        file.writestr("t.csv", b"0" * 100_000)
    folders: list[Path] = []
    monkeypatch.setattr(streams, "SPARE", 0)

    def usage(folder: Path, free: int) -> SimpleNamespace:
        folders.append(folder)
        return SimpleNamespace(free=free)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", partial(usage, free=99_999))
        with pytest.raises(InputError, match=r"100,000 bytes, and .* has 99,999 bytes free"):
            unpack(path)
        assert not folders[0].exists()
        patch.setattr(shutil, "disk_usage", partial(usage, free=100_000))
        unpack(path)


def test_no_more_is_unpacked_than_an_archive_states(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        file.writestr("t.csv", b"0" * 100_000)
    stated, honest = (size.to_bytes(4, "little") for size in (50, 100_000))
    path.write_bytes(path.read_bytes().replace(honest, stated))
    with pytest.raises(InputError, match=r"cannot be unpacked: Bad CRC-32"):
        unpack(path)


def unpack(path: Path) -> None:
    with unpacked(path):
        pass
