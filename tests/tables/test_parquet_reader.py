"""Reading Parquet: texts, batches of bounded size, and damage that is found."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError
from pipeline.tables import open_reader, read_table
from pipeline.tables.parquet import ParquetReader
from pipeline.tables.table import BATCH_CHARS, BATCH_ROWS


def test_the_texts_of_text_columns_are_joined(tmp_path: Path) -> None:
    statuses = pa.array(["x", None, "x"]).dictionary_encode()
    table = pa.table({"a": [" 1\n2 ", None, ""], "b": statuses, "n": [7, 8, None]})
    pq.write_table(table, tmp_path / "t.parquet")
    reader = ParquetReader(tmp_path / "t.parquet", ["b", "a", "n"])
    assert [batch.texts for batch in reader.batches()] == [["x. 1 2. 7", "8", "x"]]


@pytest.mark.parametrize("kept", [0, 3, 100, -1, -100])
def test_a_truncated_file_is_damaged(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [str(place) for place in range(1000)]}), path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError) as caught:
        open_reader(path, ["a"])
    assert caught.value.message.startswith(f"{path} cannot be read as Parquet: ")
    assert not caught.value.message.endswith("..")
    assert "--input-format csv" in caught.value.hint


def test_damage_within_the_file_is_found_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    texts = [f"{place * place % 99991} chairs" for place in range(20_000)]
    pq.write_table(pa.table({"a": texts}), path, 5_000, compression="gzip", use_dictionary=False)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 200] = bytes(200)
    path.write_bytes(data)
    reader = open_reader(path, ["a"])
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        list(reader.batches())


def test_text_that_is_not_utf8_cannot_be_read(not_utf8: Path) -> None:
    reader = open_reader(not_utf8, ["b"])
    with pytest.raises(InputError, match="'b' has a value that is not UTF-8 text"):
        list(reader.batches())


def test_a_long_table_comes_in_batches_of_bounded_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rows = 300_000
    pq.write_table(pa.table({"a": [str(place) for place in range(rows)]}), path)
    sizes, expected = [], 0
    for batch in ParquetReader(path, ["a"]).batches():
        assert batch.texts[0] == str(expected)
        sizes.append(len(batch.texts))
        expected += len(batch.texts)
    assert max(sizes) == BATCH_ROWS
    assert sum(sizes) == rows


def test_a_table_of_huge_cells_comes_in_batches_of_bounded_characters(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    cells = [letter * (BATCH_CHARS // 3) for letter in "abcdefg"]
    pq.write_table(pa.table({"a": cells}), path, use_dictionary=False)
    batches = list(ParquetReader(path, ["a"]).batches())
    assert max(len(batch.texts) for batch in batches) <= 3
    assert [text for batch in batches for text in batch.texts] == cells


def test_a_whole_table_is_read_with_all_its_metadata(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2]}).replace_schema_metadata({"k": "v"})
    pq.write_table(table, tmp_path / "t.parquet")
    back = read_table(tmp_path / "t.parquet", "parquet")
    assert back.equals(table, check_metadata=True)
