from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import io
import lzma
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError
from pipeline.settings import Format
from pipeline.tables import streams
from pipeline.tables.csv_dialect import Dialect, detect
from pipeline.tables.formats import open_reader, open_writer, read_table
from pipeline.tables.streams import is_archive, open_input, spooled, unpacked
from tests.cli.conftest import Command, command
from tests.tables.csv_files import compressed
from tests.tables.rewriting import CODE, rewrite, texts_of

CSV = b"a,b\n1,2\n"
DATA = CSV * 1000


@pytest.mark.parametrize(("suffix", "named"), [(".gz", "gzip"), (".zst", "zstd"), (".ZST", "zstd")])
def test_what_cannot_be_decompressed_is_an_error_that_names_the_file(
    tmp_path: Path, suffix: str, named: str
) -> None:
    path = tmp_path / f"t.csv{suffix}"
    whole = compressed(bytes(range(256)) * 99, suffix.lower())
    damaged = (
        f"{path} cannot be read: its {named} data are damaged. "
        "Check that the file is complete, such as after a download."
    )
    other = f"{path} is not compressed with {named}. Rename it without {suffix}."
    for data, said in [
        (whole[: len(whole) // 2], damaged),
        (whole[:9] + b"?" * 20 + whole[29:], damaged),
        (CSV, other),
    ]:
        path.write_bytes(data)
        with pytest.raises(InputError) as caught, open_input(path) as stream:
            stream.read()
        assert str(caught.value) == said
    path.unlink()
    with pytest.raises(InputError, match="No such file"), open_input(path):
        pass


def parquet_bytes(rows: int = 1) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"a": ["1"] * rows}), buffer)
    return buffer.getvalue()


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, DATA)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "suffix"),
    [
        (b"", ".csv"),
        (b"a", ".csv"),
        (DATA, ".csv"),
        (gzip.compress(DATA, mtime=0), ".csv.gz"),
        (compressed(DATA, ".zst"), ".csv.zst"),
        (parquet_bytes(), ".parquet"),
        (b'\n {"a": "b"}\n', ".jsonl"),
        (gzip.compress(b'{"a": "b"}\n', mtime=0), ".jsonl.gz"),
        (compressed(b'{"a": "b"}\n', ".zst"), ".jsonl.zst"),
        (gzip.compress(b'{"a": "b"}\n', mtime=0)[:15], ".csv.gz"),
        (b'[{"a": "b"}]', ".json"),
        (b"[]\n", ".json"),
        (gzip.compress(b"[]", mtime=0), ".json.gz"),
        (zipped("in/tenders.csv"), ".zip"),
        (zipped("[Content_Types].xml", "xl/embeddings/prices.xlsx"), ".xlsx"),
        (zipped("content.xml"), ".xlsx"),
    ],
)
def test_standard_input_is_copied_to_a_file_whose_suffix_says_what_it_is(
    data: bytes, suffix: str
) -> None:
    with pytest.raises(ZeroDivisionError), spooled(io.BytesIO(data)) as path:
        assert path.name == f"stdin{suffix}"
        assert path.read_bytes() == data
        raise ZeroDivisionError
    assert not path.parent.exists(), "also when the work fails"


class Endless(io.BytesIO):
    """More than a disk holds."""

    def read(self, size: int | None = -1) -> bytes:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_standard_input_without_room_for_its_copy_is_an_input_error() -> None:
    with pytest.raises(InputError) as caught, spooled(Endless()):
        pass
    folder = tempfile.gettempdir()
    expected = f"Standard input cannot be copied to {folder}: No space left on device."
    assert caught.value.message == expected
    assert "TMPDIR" in caught.value.hint


XLSX = b"PK\x03\x04\x14\x00\x06\x00" + bytes(99)
XLS = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99)
BINARY = "data compressed with bzip2, xz or 7-Zip"

OTHERS = [
    (parquet_bytes(), "a Parquet file", "--input-format parquet"),
    (parquet_bytes(0), "a Parquet file", "--input-format parquet"),
    (gzip.compress(CSV, mtime=0), "data compressed with gzip", ".csv.gz"),
    (compressed(CSV, ".zst"), "data compressed with zstd", ".csv.zst"),
    (bz2.compress(CSV), BINARY, "Decompress it first"),
    (lzma.compress(CSV), BINARY, "Decompress it first"),
    (XLSX, "an Excel workbook or another ZIP archive (.zip)", "--input-format xlsx"),
    (XLS, "an old (.xls) or a protected Excel workbook", "Save it as .xlsx"),
    (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer to the table", "lfs pull"),
    (b"%PDF-1.7\n", "a PDF document", "Export the table"),
    (b"<!doctype html><title>Log in</title>", "a web page", "Download the table itself"),
    (b'{"id": 1, "description": "roads"}\n{"id": 2}\n', "JSON Lines", ".jsonl"),
    (b'{"id": 1}', "JSON Lines", ".jsonl"),
    (b'[\n  {"id": 1}\n]\n', "a JSON list", ".json"),
    (b'\xef\xbb\xbf\n [ {"id": 1},\n{"id": 2}]', "a JSON list", ".json"),
    (b'{\n  "id": 1\n}', "JSON Lines", ".jsonl"),
    (b'[{"id": 1}]', "a JSON list", ".json"),
    (b'[{"id": "' + b"x" * 300_000 + b'"}]', "a JSON list", ".json"),
    (b'[{"ocid": "1", "tender": {}}]', "OCDS data", ".json"),
]


@pytest.mark.parametrize(("data", "words", "hint"), OTHERS)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_other_contents_of_a_file_are_called_by_their_name(
    tmp_path: Path, data: bytes, words: str, hint: str, suffix: str
) -> None:
    wanted = "Parquet" if suffix == ".parquet" else "CSV"
    if words == f"a {wanted} file":
        return
    path = tmp_path / f"tenders{suffix}"
    path.write_bytes(compressed(data, path.suffix))
    with pytest.raises(InputError) as caught:
        open_reader(path, ["a"])
    assert caught.value.message == f"{path} holds {words}, not {wanted}."
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "data",
    [
        *(b'{"id":1},roads\n', b"[a],b\n1,2\n", b"[1]\n2\n", b"{a}\n1\n", b'{"a\n1\n'),
        *(b"PAR1,b\n1,2\n", b"PK,b\n1,2\n", b"PAR1", b"(,b\n1,2\n"),
    ],
)
def test_names_of_columns_are_not_taken_for_other_contents(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    names = data.splitlines()[0].decode().split(",")
    assert read_table(tmp_path / "t.csv", "csv").column_names == names
    with spooled(io.BytesIO(data)) as path:
        assert path.suffix == ".csv"


TABLE = pa.table({"a": ["1", "2"], "t": pa.array([0, 1], pa.timestamp("us"))})


def write_table(path: Path, table: pa.Table = TABLE) -> None:
    if path.suffix == ".parquet":
        with path.open("wb") as file:
            pq.write_table(table, file, use_deprecated_int96_timestamps=True)
    else:
        data = "a,b\n" + "".join(f"{cell},x\n" for cell in table.column("a").to_pylist())
        path.write_bytes(compressed(data.encode(), path.suffix))


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_names_that_are_not_utf8_are_read_and_written(tmp_path: Path, ending: str) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9" + ending.encode())
    write_table(path)
    output = path.with_name(f"out-{path.name}")
    output_format: Format = "parquet" if ending == ".parquet" else "csv"
    rewrite(open_reader(path, ["a"]), output, [["1"], ["2"]], output_format, [CODE])
    assert texts_of(open_reader(output, ["cpv_code"])) == ["1", "2"]


@pytest.mark.parametrize("name", ["o.csv", "o.csv.gz", "o.parquet"])
def test_an_aborted_output_is_closed(tmp_path: Path, name: str) -> None:
    """A file that stays open is a warning, and so a failure."""
    write_table(tmp_path / "t.csv")
    reader = open_reader(tmp_path / "t.csv", ())
    output_format: Format = "parquet" if name == "o.parquet" else "csv"
    open_writer(tmp_path / name, name, output_format, reader, [CODE]).abort()


def test_the_fingerprint_of_the_opened_table_is_taken_before_anything_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What changes between the names and the rows is a change, too."""
    write_table(path)
    before = hashlib.sha256(path.read_bytes()).hexdigest()

    def changing(*args: Any) -> Dialect:
        write_table(path, TABLE.slice(1))
        return detect(*args)

    monkeypatch.setattr("pipeline.tables.csv_table.detect", changing)
    reader = open_reader(path, ())
    assert reader.opened_fingerprint == before
    assert reader.fingerprint() != before


def test_a_table_that_vanished_is_an_error_that_says_so(path: Path) -> None:
    write_table(path)
    reader = open_reader(path, ())
    path.unlink()
    with pytest.raises(InputError, match="cannot be read: No such file") as caught:
        reader.fingerprint()
    assert caught.value.hint == "Check that it exists, is readable and complete."


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
    more = {"README.txt": "x", "__MACOSX/t.csv": "x", "data/.t.csv": "x", "~$t.xlsx": "x"}
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
