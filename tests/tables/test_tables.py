from __future__ import annotations

import base64
import io
import os
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import encryption

from pipeline.errors import InputError, OutputError
from pipeline.settings import Format
from pipeline.tables.formats import (
    format_of,
    open_reader,
    output_format_of,
    read_table,
    split_suffixes,
)
from tests.cli.conftest import Command, command
from tests.tables.rewriting import rewrite


@pytest.mark.parametrize(
    ("name", "parts", "table_format"),
    [
        ("tenders.csv", ("tenders", ".csv", ""), "csv"),
        ("tenders.TSV", ("tenders", ".TSV", ""), "csv"),
        ("tenders.tab", ("tenders", ".tab", ""), "csv"),
        ("tenders.txt.zst", ("tenders", ".txt", ".zst"), "csv"),
        ("q1.2024.csv.GZ", ("q1.2024", ".csv", ".GZ"), "csv"),
        ("tenders.parquet", ("tenders", ".parquet", ""), "parquet"),
        ("tenders.pq", ("tenders", ".pq", ""), "parquet"),
        ("tenders.jsonl", ("tenders", ".jsonl", ""), "jsonl"),
        ("tenders.NDJSON.gz", ("tenders", ".NDJSON", ".gz"), "jsonl"),
    ],
)
def test_the_suffix_says_the_format(
    name: str, parts: tuple[str, str, str], table_format: Format
) -> None:
    assert split_suffixes(Path(name)) == parts
    assert format_of(Path(name)) == table_format


@pytest.mark.parametrize(
    "name", ["tenders", "tenders.gz", "tenders.zip.zst", ".csv", "tenders.xls", "tenders.csv.bz2"]
)
def test_an_unknown_suffix_is_an_error_that_says_what_to_do(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"a\n1\n")
    with pytest.raises(InputError) as caught:
        open_reader(tmp_path / name, ["a"])
    assert caught.value.message == (
        f"The name {name!r} does not show which of the supported formats the table has: "
        "CSV (.csv, .tsv, .tab, .txt), Parquet (.parquet, .pq), JSON Lines (.jsonl, .ndjson), "
        "Excel (.xlsx), OCDS (.json); all but Parquet and Excel also with .gz or .zst."
    )
    assert "save it as .xlsx or .csv first" in caught.value.hint
    assert "--input-format csv" in caught.value.hint
    with pytest.raises(OutputError) as refused:
        output_format_of(Path(name))
    assert refused.value.message == caught.value.message
    assert "--output-format csv" in refused.value.hint


@pytest.mark.parametrize(
    ("name", "first", "hint"),
    [
        ("t.csv.bz2", b"BZh91AY&SY", "Decompress it first, or compress it with gzip or zstd."),
        ("t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Save it as .xlsx, without a password."),
        ("t", b"PAR1\x15", "Use --input-format parquet, or rename it to end in .parquet."),
        ("t.ods", b"PK\x03\x04", "If it has another, such as .xls or .xml, save it as .xlsx"),
    ],
)
def test_the_first_bytes_say_what_to_do_about_an_unknown_suffix(
    tmp_path: Path, name: str, first: bytes, hint: str
) -> None:
    (tmp_path / name).write_bytes(first)
    with pytest.raises(InputError, match="does not show which") as caught:
        format_of(tmp_path / name)
    assert caught.value.hint.startswith(hint)


def test_a_stated_format_outweighs_the_suffix(tmp_path: Path) -> None:
    (tmp_path / "t.dat").write_bytes(b"a\n1\n")
    pq.write_table(pa.table({"a": ["2"]}), tmp_path / "t.csv")
    assert read_table(tmp_path / "t.dat", "csv").to_pydict() == {"a": ["1"]}
    assert read_table(tmp_path / "t.csv", "parquet").to_pydict() == {"a": ["2"]}


@pytest.mark.parametrize(
    ("name", "stated", "suffix"),
    [("o.parquet", "csv", ".csv"), ("o.csv.gz", "ocds", ".json"), ("o.tsv", "xlsx", ".xlsx")],
)
def test_a_stated_format_of_an_output_must_be_that_of_its_name(
    name: str, stated: Format, suffix: str
) -> None:
    with pytest.raises(OutputError, match=f"--output-format says {stated}") as caught:
        output_format_of(Path(name), stated)
    assert caught.value.hint.endswith(f"a name that ends in {suffix}.")


@pytest.mark.parametrize(
    ("name", "stated"),
    [("o.tsv", "csv"), ("o.json", "jsonl"), ("o.jsonl", "ocds"), ("o.dat", "csv"), ("o", "xlsx")],
)
def test_a_stated_format_may_be_more_exact_than_the_name(name: str, stated: Format) -> None:
    assert output_format_of(Path(name), stated) == stated


GIVE = "Give the path of a table: CSV, Parquet, JSON Lines, Excel, OCDS."


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Path, f"does not exist. {GIVE}"),
        (Path.mkdir, f"is a folder. {GIVE}"),
        (
            os.mkfifo,
            "is not a regular file, and a table must be read twice. "
            "Pipe it to standard input, with - as the path.",
        ),
    ],
    ids=["nothing", "folder", "pipe"],
)
def test_what_is_no_file_that_can_be_read_twice_is_an_error(
    tmp_path: Path, make: Callable[[Path], object], said: str
) -> None:
    make(tmp_path / "t.csv")
    with pytest.raises(InputError) as caught:
        open_reader(tmp_path / "t.csv", ["a"])
    assert str(caught.value) == f"{tmp_path / 't.csv'} {said}"


@pytest.mark.parametrize("name", ["o.parquet.gz", "o.parquet.ZST", "o.gz"])
def test_parquet_is_not_compressed_as_a_whole(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.csv").write_bytes(b"a\n1\n")
    with pytest.raises(OutputError) as caught:
        rewrite(open_reader(tmp_path / "t.csv", ["a"]), tmp_path / name, [("1", "x")], "parquet")
    assert caught.value.message == (
        f"{name!r} is the name of a compressed file, but Parquet compresses its own data."
    )
    assert caught.value.hint == "Use a name that ends in .parquet."
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("table_format", "title"), [("parquet", "Parquet"), ("jsonl", "JSON Lines")]
)
def test_columns_of_one_name_are_for_some_formats_only(
    tmp_path: Path, table_format: Format, title: str
) -> None:
    (tmp_path / "t.csv").write_bytes(b"b,a,b,c,a\n1,2,3,4,5\n")
    reader = open_reader(tmp_path / "t.csv", ["c"])
    with pytest.raises(OutputError) as caught:
        rewrite(reader, tmp_path / "o", [("1", "x")], table_format)
    assert caught.value.message == f"{title} cannot hold two columns with the same name: 'a', 'b'."
    assert caught.value.hint == "Rename them, or write CSV: --output-format csv."
    assert not (tmp_path / "o").exists()


__all__ = ["command"]


def parquet(*columns: tuple[str, list[object]]) -> bytes:
    """Return a Parquet file; two columns may have one name."""
    names, values = [name for name, _ in columns], [pa.array(cells) for _, cells in columns]
    file = io.BytesIO()
    pq.write_table(pa.table(values, names=names), file)
    return file.getvalue()


class _Keys(encryption.KmsClient):  # type: ignore[misc] # pyarrow has no types
    """Wraps no key at all; enough to encrypt a test's file."""

    def wrap_key(self, key: bytes, name: str) -> bytes:
        return base64.b64encode(key)


def encrypted(plain_footer: bool) -> bytes:
    factory = encryption.CryptoFactory(lambda _: _Keys())
    how = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"c": ["description"]}, plaintext_footer=plain_footer
    )
    file = io.BytesIO()
    table = pa.table({"description": ["road"], "n": [1]})
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), how)
    with pq.ParquetWriter(file, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    return file.getvalue()


@pytest.fixture
def run(command: Command) -> Command:
    """Classify a table in a folder of its own and return the exit code."""
    return lambda *arguments: command("run", *arguments, "--systems", "naics")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("t.csv", b"description,naics_code,cost_usd\n,,\n", "'naics_code', 'cost_usd'"),
        ("t.parquet", parquet(), "has no columns"),
        ("t.parquet", parquet(("description", ["a"]), ("description", ["b"])), "2 columns named"),
        ("t.parquet", encrypted(plain_footer=True), "The file is encrypted"),
        ("t.parquet", encrypted(plain_footer=False), "The file is encrypted"),
    ],
)
def test_what_cannot_be_done_correctly_is_refused_and_nothing_is_written(
    run: Command, capsys: pytest.CaptureFixture[str], name: str, data: bytes, message: str
) -> None:
    Path(name).write_bytes(data)
    assert run(name) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert [path.name for path in Path().rglob("*") if path.is_file()] == [name]


def test_damage_anywhere_in_a_footer_is_an_error_and_no_crash(tmp_path: Path) -> None:
    """Arrow aborts the process when it is asked about a column whose entry is damaged."""
    data = parquet(("description", ["road", None]), ("n", [[{"a": [1]}], None]))
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    draws = random.Random(7)
    path = tmp_path / "t.parquet"
    read = refused = 0
    for _ in range(400):
        damaged = bytearray(data)
        damaged[draws.randrange(footer, len(data) - 8)] = draws.choice([0, 1, 127, 128, 255])
        path.write_bytes(damaged)
        try:
            read += len(list(open_reader(path, ["description"]).batches()))
        except InputError:
            refused += 1
    assert read and refused
