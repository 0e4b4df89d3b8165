from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError
from pipeline.tables import open_reader, read_table
from pipeline.tables.streams import open_input, spooled
from tests.tables.csv_files import compressed

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
