"""Hostile and damaged tables, given to the command line."""

from __future__ import annotations

import base64
import io
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import encryption

from pipeline.errors import InputError
from pipeline.tables import open_reader
from tests.cli.conftest import Command, command

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
