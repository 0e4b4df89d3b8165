"""Files are opened by Python, whatever their names are, and closed, whatever happens."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError, OutputError
from pipeline.settings import CsvOptions, Format
from pipeline.tables import Reader, open_reader, open_writer
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


def test_an_output_that_parquet_refuses_is_closed(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv")
    reader = open_reader(tmp_path / "t.csv", ())
    interval = pa.field("i", pa.month_day_nano_interval())
    with pytest.raises(OutputError):
        open_writer(tmp_path / "o.parquet", "o.parquet", "parquet", reader, [interval])


@pytest.mark.parametrize(
    ("ending", "step"),
    [
        (".csv", "pipeline.tables.csv_table.detect"),
        (".parquet", "pipeline.tables.parquet._codec"),
    ],
)
def test_the_fingerprint_of_the_opened_table_is_taken_before_anything_is_read(
    tmp_path: Path, ending: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What changes between the names and the rows is a change, too."""
    path = tmp_path / f"t{ending}"
    write_table(path)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(step, _changing_first(path, _resolve(step)))
    reader = open_reader(path, ())
    assert reader.opened_fingerprint == before
    assert reader.fingerprint() != before


def _changing_first(path: Path, original: Callable[..., Any]) -> Callable[..., Any]:
    def changing(*args: Any) -> Any:
        write_table(path, TABLE.slice(1))
        return original(*args)

    return changing


def _resolve(name: str) -> Callable[..., Any]:
    module, _, function = name.rpartition(".")
    found: Callable[..., Any] = getattr(pytest.importorskip(module), function)
    return found


def _readers(folder: Path) -> list[Reader]:
    paths = [folder / "t.csv", folder / "t.parquet"]
    for path in paths:
        write_table(path)
    return [open_reader(path, (), CsvOptions()) for path in paths]


def test_a_table_that_vanished_is_an_error_that_says_so(tmp_path: Path) -> None:
    for reader, name in zip(_readers(tmp_path), ["t.csv", "t.parquet"], strict=True):
        (tmp_path / name).unlink()
        with pytest.raises(InputError, match=r"cannot be read: .*No such file") as caught:
            reader.fingerprint()
        assert caught.value.hint == "Check that it exists, is readable and complete."
