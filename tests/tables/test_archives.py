"""A ZIP archive with one table is read like the table."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from pipeline.errors import InputError
from pipeline.tables import streams
from pipeline.tables.streams import is_archive, unpacked
from tests.cli.conftest import Command, command

__all__ = ["command"]

SIZE = 100_000
"""Bytes of a table, which are few in an archive."""


def archive(path: Path, files: dict[str, str]) -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return path


def test_the_table_of_an_archive_is_read_and_the_output_is_a_table(
    command: Command, tmp_path: Path
) -> None:
    more = {"README.txt": "x", "__MACOSX/t.csv": "x", "data/.t.csv": "x"}
    # Spark writes a folder with the name of the table.
    archive(tmp_path / "all.ZIP", {"all.csv/": "", "all.csv/t.csv": "description\nRoads\n", **more})
    assert command("run", "all.ZIP", "--systems", "psc") == 0
    lines = Path("outputs/t.classified.csv").read_text().splitlines()
    assert lines[1].startswith("Roads,")


def test_an_error_in_the_table_names_the_archive(tmp_path: Path) -> None:
    path = archive(tmp_path / "t.zip", {"t.csv": "a\n"})
    assert is_archive(path)
    with pytest.raises(InputError) as caught, unpacked(path) as copy:
        raise InputError(f"{copy} is bad.", "")
    assert caught.value.message == f"{path} (t.csv) is bad."
    assert not copy.parent.exists()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "has no table."),
        ({"a.txtx": ""}, "has no table."),
        ({"a.csv": "", "b.jsonl": ""}, "has 2 tables: 'a.csv', 'b.jsonl'."),
    ],
)
def test_an_archive_needs_exactly_one_table(
    tmp_path: Path, files: dict[str, str], message: str
) -> None:
    path = archive(tmp_path / "t.zip", files)
    with pytest.raises(InputError, match=r"t\.zip") as caught, unpacked(path):
        pass
    assert caught.value.message.endswith(message)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda whole: whole[:50], "File is not a zip file"),
        (lambda whole: b"a,b\n", "File is not a zip file"),
        # It states fewer bytes than it has, and no more than these are unpacked.
        (lambda whole: whole.replace(SIZE.to_bytes(4, "little"), b"2\0\0\0"), "Bad CRC-32"),
    ],
    ids=["cut off", "a table", "bomb"],
)
def test_a_damaged_archive_is_an_error(
    tmp_path: Path, change: Callable[[bytes], bytes], reason: str
) -> None:
    path = archive(tmp_path / "t.zip", {"t.csv": "0" * SIZE})
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError, match=f"cannot be unpacked: {reason}") as caught:
        unpack(path)
    assert "rename it without .zip" in caught.value.hint


def test_a_table_that_would_fill_the_disk_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "t.zip", {"t.csv": "0" * SIZE})
    unpack(path)
    monkeypatch.setattr(streams, "SPARE", shutil.disk_usage(tmp_path).total)
    with pytest.raises(InputError, match=r"'t\.csv' with 100,000 bytes, and .* bytes free"):
        unpack(path)


def unpack(path: Path) -> None:
    with unpacked(path):
        pass
