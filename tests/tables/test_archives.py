"""A ZIP archive with one table is read like the table."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from pipeline.errors import InputError
from pipeline.tables import is_archive, unpacked
from tests.cli.test_run import Command, command

__all__ = ["command"]


def archive(path: Path, **files: str) -> Path:
    with ZipFile(path, "w") as file:
        for name, content in files.items():
            file.writestr(name.replace("__DOT__", ".").replace("__IN__", "/"), content)
    return path


def test_the_table_of_an_archive_is_read_and_the_output_is_a_table(
    command: Command, tmp_path: Path
) -> None:
    more = {"readme__DOT__md": "x", "__MACOSX__IN__.t__DOT__csv": "x"}
    archive(tmp_path / "all.ZIP", data__IN__t__DOT__csv="description\nRoads\n", **more)
    assert command("run", "all.ZIP", "--systems", "psc", "--engine", "lexical") == 0
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
