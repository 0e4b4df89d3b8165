from __future__ import annotations

import bz2
import gzip
import io
import lzma
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError
from pipeline.tables import open_reader, read_table, spooled
from tests.tables.csv_files import compressed


def parquet_bytes(rows: int = 1) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"a": ["1"] * rows}), buffer)
    return buffer.getvalue()


XLSX = b"PK\x03\x04\x14\x00\x06\x00" + bytes(99)
XLS = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99)
CSV = b"a,b\n1,2\n"

OTHERS = [
    (parquet_bytes(), "a Parquet file", "--input-format parquet"),
    (parquet_bytes(0), "a Parquet file", "--input-format parquet"),
    (gzip.compress(CSV, mtime=0), "data compressed with gzip", ".csv.gz"),
    (compressed(CSV, ".zst"), "data compressed with zstd", ".csv.zst"),
    (bz2.compress(CSV), "data compressed with bzip2", "Decompress it first"),
    (lzma.compress(CSV), "data compressed with xz", "Decompress it first"),
    (XLSX, "an Excel workbook or another ZIP archive", "--input-format xlsx"),
    (XLS, "an old (.xls) or a protected Excel workbook", "Save it as .xlsx"),
    (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer to the table", "lfs pull"),
    (b"%PDF-1.7\n", "a PDF document", "Export the table"),
    (b"<!doctype html><title>Log in</title>", "a web page", "Download the table itself"),
]


@pytest.mark.parametrize(("data", "words", "hint"), OTHERS)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_other_contents_of_a_csv_file_are_called_by_their_name(
    tmp_path: Path, data: bytes, words: str, hint: str, suffix: str
) -> None:
    path = tmp_path / f"tenders.csv{suffix}"
    path.write_bytes(compressed(data, suffix))
    with pytest.raises(InputError) as caught:
        open_reader(path, ["a"])
    assert caught.value.message == f"{path} holds {words}, not CSV."
    assert hint in caught.value.hint


@pytest.mark.parametrize(("data", "words", "hint"), OTHERS[2:])
def test_other_contents_of_a_parquet_file_are_called_by_their_name(
    tmp_path: Path, data: bytes, words: str, hint: str
) -> None:
    path = tmp_path / "tenders.parquet"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        open_reader(path, ["a"])
    assert caught.value.message == f"{path} holds {words}, not Parquet."
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("data", "words", "hint"),
    [
        (b'{"id": 1, "description": "roads"}\n{"id": 2}\n', "JSON Lines", ".jsonl"),
        (b'{"id": 1}', "JSON Lines", ".jsonl"),
        (b'[\n  {"id": 1}\n]\n', "a JSON list", ".json"),
        (b'\xef\xbb\xbf\n [ {"id": 1},\n{"id": 2}]', "a JSON list", ".json"),
        (b'{\n  "id": 1\n}', "JSON", "jq .results FILE"),
        (b'[{"id": 1}]', "a JSON list", ".json"),
        (b'[{"id": "' + b"x" * 300_000 + b'"}]', "a JSON list", ".json"),
        (b'[{"ocid": "1", "tender": {}}]', "OCDS data", ".json"),
    ],
)
def test_json_is_called_by_its_name(tmp_path: Path, data: bytes, words: str, hint: str) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(InputError) as caught:
        open_reader(tmp_path / "t.csv", ["description"])
    assert caught.value.message == f"{tmp_path / 't.csv'} holds {words}, not CSV."
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "data", [b'{"id":1}\troads\n', b"[a],b\n1,2\n", b"[1]\n2\n", b"{a}\n1\n", b"[]\n", b'{"a\n1\n']
)
def test_a_csv_file_may_begin_much_like_json(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    first = data.split(b"\n")[0].replace(b"\t", b",").decode().split(",")
    assert read_table(tmp_path / "t.csv", "csv").column_names == first


@pytest.mark.parametrize("data", [b"PAR1,b\n1,2\n", b"PK,b\n1,2\n", b"PAR1", b"(,b\n1,2\n"])
def test_names_of_columns_are_not_taken_for_other_contents(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    names = data.splitlines()[0].decode().split(",")
    assert read_table(tmp_path / "t.csv", "csv").column_names == names
    with spooled(io.BytesIO(data)) as path:
        assert path.suffix == ".csv"


def test_another_archive_on_standard_input_is_not_taken_for_a_workbook() -> None:
    with (
        spooled(io.BytesIO(XLSX)) as path,
        pytest.raises(InputError, match="cannot be read as an Excel workbook"),
    ):
        open_reader(path, ["a"])
