from __future__ import annotations

import errno
import gzip
import hashlib
import io
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError
from pipeline.tables.streams import (
    compression_of,
    open_input,
    open_output,
    sha256_of,
    spooled,
)
from tests.tables.csv_files import compressed

DATA = b"a,b\n1,2\n" * 1000


@pytest.mark.parametrize(
    ("name", "compression"),
    [
        ("t.csv", None),
        ("t", None),
        ("t.gz.csv", None),
        ("t.csv.gz", "gzip"),
        ("t.CSV.GZ", "gzip"),
        ("t.gzip", "gzip"),
        ("t.csv.zst", "zstd"),
        ("t.zstd", "zstd"),
    ],
)
def test_the_last_suffix_says_the_compression(name: str, compression: str | None) -> None:
    assert compression_of(Path(name)) == compression


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_what_was_written_is_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.csv{suffix}"
    with open_output(path, compression_of(path)) as stream:
        stream.write(DATA)
    assert (path.read_bytes() == DATA) == (suffix == "")
    with open_input(path) as stream:
        assert stream.read() == DATA


def test_the_suffix_of_the_temporary_file_does_not_count(tmp_path: Path) -> None:
    with open_output(tmp_path / "t.csv.gz", None) as stream:
        stream.write(DATA)
    assert (tmp_path / "t.csv.gz").read_bytes() == DATA


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_damaged_data_are_an_error_that_names_the_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.csv{suffix}"
    whole = compressed(bytes(range(256)) * 99, suffix)
    for data in (whole[: len(whole) // 2], whole[:9] + b"?" * 20 + whole[29:]):
        path.write_bytes(data)
        with pytest.raises(InputError) as caught, open_input(path) as stream:
            stream.read()
        assert caught.value.message.startswith(f"{path} cannot be read: ")
        assert caught.value.hint == "Check that it exists, is readable and complete."


@pytest.mark.parametrize(
    ("name", "data", "message", "hint"),
    [
        (
            "t.csv.gz",
            b"a,b\n1,2\n",
            "holds no gzip data, although its name ends in .gz.",
            "If it is not compressed, rename it to end in .csv, without .gz.",
        ),
        (
            "t.ZST",
            b"a,b\n1,2\n",
            "holds no zstd data, although its name ends in .ZST.",
            "If it is not compressed, rename it to end in .csv, without .ZST.",
        ),
        (
            "t.csv.gz",
            b"PK\x03\x04...",
            "holds an Excel workbook or another ZIP archive, no gzip data.",
            "Use --input-format xlsx, or rename it to end in .xlsx (in .zip if it is an archive).",
        ),
    ],
)
def test_data_that_are_not_compressed_as_the_name_says_are_an_error(
    tmp_path: Path, name: str, data: bytes, message: str, hint: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError) as caught, open_input(path) as stream:
        stream.read()
    assert (caught.value.message, caught.value.hint) == (f"{path} {message}", hint)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"), open_input(tmp_path / "t.csv"):
        pass


def test_the_hash_is_that_of_the_bytes_on_disk(tmp_path: Path) -> None:
    data = gzip.compress(DATA)
    (tmp_path / "t.csv.gz").write_bytes(data)
    assert sha256_of(tmp_path / "t.csv.gz") == hashlib.sha256(data).hexdigest()


def parquet_bytes() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"a": ["1"]}), buffer)
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
    ],
)
def test_standard_input_is_copied_to_a_file_whose_suffix_says_what_it_is(
    data: bytes, suffix: str
) -> None:
    with spooled(io.BytesIO(data)) as path:
        assert path.name == f"stdin{suffix}"
        assert path.read_bytes() == data
    assert not path.exists()
    assert not path.parent.exists()


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


def test_the_copy_of_standard_input_goes_when_the_work_fails() -> None:
    with pytest.raises(ZeroDivisionError), spooled(io.BytesIO(DATA)) as path:
        raise ZeroDivisionError
    assert not path.parent.exists()
