"""Files are opened by Python, whatever their names are, and closed, whatever happens."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError
from pipeline.settings import Format
from pipeline.tables import open_reader, open_writer
from pipeline.tables.csv_dialect import Dialect, detect
from tests.tables.csv_files import compressed
from tests.tables.rewriting import CODE, rewrite, texts_of

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
    with pytest.raises(InputError, match=r"cannot be read: .*No such file") as caught:
        reader.fingerprint()
    assert caught.value.hint == "Check that it exists, is readable and complete."
