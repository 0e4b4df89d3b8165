from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.settings import CsvOptions
from pipeline.tables.arrow import ArrowReader
from pipeline.tables.cells import cell
from pipeline.tables.formats import open_reader, read_table
from tests.tables.csv_files import (
    LATIN,
    WIDE,
    CsvFile,
    cell_texts,
    csv_files,
    decompressed,
)
from tests.tables.rewriting import (
    CODE,
    NEW_FIELDS,
    csv_rows,
    folder,
    rewrite,
    rewritten,
    small_steps,
)

STEPS = st.tuples(
    st.sampled_from([1, 2, 3, 7, 1 << 20]),
    st.sampled_from([1, 2, 1024]),
    st.sampled_from([1, 9**9]),
)


@st.composite
def files_with_new_cells(draw: st.DrawFn) -> tuple[CsvFile, list[list[str]]]:
    file = draw(csv_files())
    cells = st.lists(cell_texts(file.coding), min_size=2, max_size=2)
    return file, [draw(cells) for _ in file.rows]


def written(cells: list[str], options: CsvOptions) -> str:
    """Write cells behind others with the csv module alone, and check that they are read again."""
    how: dict[str, Any] = {"delimiter": options.delimiter, "lineterminator": "\r\n"}
    if options.quote_escape == "backslash":
        how |= {"doublequote": False, "escapechar": "\\"}
    line = io.StringIO(newline="")
    csv.writer(line, **how).writerow(cells)
    assert [*csv.reader(io.StringIO(line.getvalue(), newline=""), strict=True, **how)] == [cells]
    return f"{options.delimiter}{line.getvalue()[:-2]}"


@given(pair=files_with_new_cells(), steps=STEPS)
def test_every_cell_is_read_and_stays_byte_for_byte_before_our_cells(
    pair: tuple[CsvFile, list[list[str]]], steps: tuple[int, int, int]
) -> None:
    file, added = pair
    with folder() as place, small_steps(*steps):
        source = place / f"in.csv{file.suffix}"
        source.write_bytes(file.data)
        output = place / f"out.csv{file.suffix}"
        reader = open_reader(source, (), file.options)
        assert reader.schema.names == file.names
        assert csv_rows(reader) == file.rows
        writer = rewrite(reader, output, added)
        content = decompressed(output.read_bytes(), file.suffix)
    names = [[field.name for field in NEW_FIELDS]] if file.options.header else []
    new = [*names, *([*map(cell, cells)] for cells in added)]
    assert content == file.content_with([written(cells, file.options) for cells in new])
    assert writer.replaced_characters == 0


@given(file=csv_files(header=True))
def test_csv_to_parquet_and_back_keeps_every_value(file: CsvFile) -> None:
    names = file.records[0]
    assume("\0" not in "".join(names))  # they may look like UTF-16 without a mark
    file.records[0][:] = [f"{place}{name}" for place, name in enumerate(names)]
    added = [(str(place), None) for place in range(len(file.rows))]
    with folder() as place:
        source = place / f"in.csv{file.suffix}"
        source.write_bytes(file.data)
        reader = open_reader(source, (), file.options)
        rewrite(reader, place / "t.parquet", added, "parquet")
        rewrite(open_reader(place / "t.parquet", ()), place / "b.csv", added, fields=[CODE, CODE])
        back = open_reader(place / "b.csv", (), CsvOptions(delimiter=",", line_end="lf"))
        assert back.schema.names[: len(names)] == file.names
        assert [row[: len(names)] for row in csv_rows(back)] == file.rows


def test_odd_line_ends_stay() -> None:
    expected = b'a,b,cpv_code,"the ""title"", in full"\r\r\n1,2,1,x\r\r\n'
    assert rewritten(b"a,b\r\r\n1,2\r\r\n", "in.csv") == expected


def test_an_escaped_carriage_return_stays_in_its_field() -> None:
    """MySQL writes a value that ends with a carriage return so."""
    data = b"a,b\r\n1,2\\\r\r\n3,4\\\\\r\n"
    expected = b'a,b,cpv_code,"the \\"title\\", in full"\r\n1,2\\\r,1,x\r\n3,4\\\\,1,x\r\n'
    assert rewritten(data, "in.csv", CsvOptions(quote_escape="backslash")) == expected


def test_quotes_may_be_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_bytes(b'a\tb\r\n5" pipe\t"Smart" city\r\n"open\t\r\n')
    reader = open_reader(tmp_path / "in.tsv", (), CsvOptions(quote_escape="none"))
    rewrite(reader, tmp_path / "out.tsv", [("1", '"x"'), ("2\t", "y\r\nz")])
    header, *rows = (tmp_path / "out.tsv").read_bytes().split(b"\r\n")
    assert header == b'a\tb\tcpv_code\tthe "title", in full'
    assert rows == [b'5" pipe\t"Smart" city\t1\t"x"', b'"open\t\t2 \ty  z', b""]
    with pytest.raises(InputError, match="new cells cannot hold the delimiter ','"):
        rewritten(b"a,b\n", "in.csv", CsvOptions(quote_escape="none"))


@settings(max_examples=50, deadline=None)
@given(title=st.lists(st.sampled_from(["a", "?", *LATIN, *WIDE])).map("".join))
def test_new_letters_that_the_encoding_lacks_become_question_marks(title: str) -> None:
    with folder() as place:
        (place / "in.csv").write_bytes("é\n1\n".encode("latin-1"))
        reader = open_reader(place / "in.csv", (), CsvOptions(encoding="latin-1"))
        writer = rewrite(reader, place / "out.csv", [("7", title)])
        row = (place / "out.csv").read_bytes().splitlines()[1].decode("latin-1")
    seen = title.translate({0x2028: " ", 0x85: " "})
    lacking = [letter for letter in seen if ord(letter) > 255]
    assert writer.replaced_characters == len(lacking)
    assert row == "1,7," + "".join("?" if ord(letter) > 255 else letter for letter in seen)


@given(
    values=st.lists(st.text(st.sampled_from("a\"\r\n,;\t\\ 'é\0"), max_size=5)),
    suffix=st.sampled_from([".csv", ".tsv", ".tab", ".csv.gz", ".TSV", ".tsv.zst"]),
)
def test_texts_in_memory_come_back_from_csv(values: list[str], suffix: str) -> None:
    table = pa.table({"text": pa.array(values, pa.string())})
    with folder() as place:
        output = place / f"out{suffix}"
        rewrite(ArrowReader(table, ()), output, [(None, None)] * len(values))
        delimiter = "\t" if "t" in suffix[:3].lower() else ","
        back = read_table(output, "csv", CsvOptions(delimiter=delimiter))
    assert back.num_columns == 3
    assert back.column("text").to_pylist() == values
