"""CSV files that are damaged, or hostile, are errors that name the line."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.quoting import how_many
from tests.tables.csv_files import error_of, opened
from tests.tables.rewriting import csv_rows, small_steps


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\r\n", b"  \n\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("header", [True, False])
def test_a_file_without_a_record_is_empty(path: Path, data: bytes, header: bool) -> None:
    error = error_of(path, data, header=header)
    assert error.message == f"{path} is empty."
    assert error.hint == "A CSV file needs at least a line with column names."


@pytest.mark.parametrize("order", ["le", "be"])
def test_utf_16_without_a_mark_is_named_even_if_it_is_not_ascii(path: Path, order: str) -> None:
    data = "id,title\n1,Wasserzähler für Städte\n".encode(f"utf-16-{order}")
    error = error_of(path, data)
    assert error.message == f"{path}, line 2: byte 0xE4 is not utf-8."
    assert error.hint.endswith(f"without a byte order mark: --encoding 'utf-16-{order}'.")


@pytest.mark.parametrize(
    "data",
    [
        "id,title\n1,für\0Städte\n".encode("cp1252"),
        b"SQLite format 3\0\x10\0\xff" + b"\0" * 4000,
        codecs.BOM_UTF16_LE + "id,title\n1,\ud800\n".encode("utf-16-le", "surrogatepass"),
    ],
    ids=["a NUL", "binary", "UTF-16 with a mark"],
)
def test_no_other_file_with_nuls_is_taken_for_utf_16_without_a_mark(
    path: Path, data: bytes
) -> None:
    assert "cp1252" in error_of(path, data).hint


def test_after_other_characters_in_utf_8_no_other_encoding_is_suggested(path: Path) -> None:
    error = error_of(path, "a\nStraße\n".encode() + "Straße\n".encode("latin-1"))
    assert error.message == f"{path}, line 3: byte 0xDF is not utf-8."
    assert error.hint.startswith(
        "The characters before it are UTF-8, so another --encoding would change them: correct "
        "this line, or export the table again. Encodings that read the whole file"
    )


@pytest.mark.parametrize(("line", "fields"), [(b"3", 1), (b'""', 1), (b"3,4,5", 3), (b"3,4,", 3)])
def test_a_ragged_row_is_an_error_that_names_its_line(path: Path, line: bytes, fields: int) -> None:
    error = error_of(path, b"a,b\n1,2\n\n" + line + b"\n1,2\n")
    assert error.message == f"{path}, line 4: {how_many(fields, 'field')} where 2 are expected."
    assert "--delimiter" in error.hint
    assert "TENDER_PIPELINE_QUOTE_ESCAPE" in error.hint


def test_texts_with_commas_in_a_table_of_one_column_can_be_read_with_another_delimiter(
    path: Path,
) -> None:
    data = b"a\nmeters, DN15\ncleaning\n"
    hint = "If the table has one column, name a delimiter that no text has: --delimiter tab."
    assert error_of(path, data).hint == hint
    (batch,) = opened(path, data, "a", delimiter="tab").batches()
    assert batch.texts == ["meters, DN15", "cleaning"]


def test_the_lines_within_quotes_count(path: Path) -> None:
    assert "line 5:" in error_of(path, b'a,b\n"1\n2\n",2\n3\n').message


def test_a_quote_that_is_never_closed_is_an_error_that_names_its_line(path: Path) -> None:
    error = error_of(path, b'a,b\n1,2\n\n3,"4\n5,6\n')
    assert error.message == (
        f"{path}: the record that begins on line 4 is malformed: "
        "a quote is opened and never closed."
    )
    assert error.hint == (
        "Fix the record, or state what separates the fields: --delimiter. If quotes are part of "
        "the text (with tabs or |), set TENDER_PIPELINE_QUOTE_ESCAPE=none; if the "
        "lines do not end with a line feed, set TENDER_PIPELINE_LINE_END."
    )


def test_a_cell_may_have_very_many_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.tables.csv_records.RECORD_CHARS", 150)
    cell = "x\n" * 60
    with small_steps(7, 1, 1):
        rows = csv_rows(opened(path, f'a,b\n1,"{cell}"\n3,"4\n"\n'.encode()))
    assert rows == [["1", cell], ["3", "4\n"]]


def test_an_open_quote_ends_before_it_fills_the_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def endless(*_: object) -> Iterator[list[str]]:
        yield ["a,b\n", "1,2\n", '3,"4\n']
        while len(read) < 1000:
            yield ["5,6\n"]
            read.append(1)

    monkeypatch.setattr("pipeline.tables.csv_records.RECORD_CHARS", 1000)
    monkeypatch.setattr("pipeline.tables.csv_records.read_lines", endless)
    error = error_of(path, b"a,b\n")
    assert "begins on line 3" in error.message
    assert "never closed" in error.message
    assert len(read) < 300


def test_the_bound_is_on_a_record_and_not_on_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.tables.csv_records.RECORD_CHARS", 100)
    assert len(csv_rows(opened(path, b"a,b\n" + b"1,2\n" * 500))) == 500


@pytest.mark.parametrize("data", [b"a,b\n" + b"\n" * 99 + b"1,2\n", b"a,b\n1,2\n" + b" \r\n" * 99])
def test_blank_lines_without_end_are_an_error_before_they_fill_the_memory(
    path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.tables.csv_records.RECORD_CHARS", 50)
    with small_steps(7, 1, 1):
        error = error_of(path, data)
    assert error.message.endswith("is malformed: there are too many blank lines.")


def test_a_quote_after_blank_lines_that_is_never_closed_is_reported_as_such(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.tables.csv_records.RECORD_CHARS", 1000)
    error = error_of(path, b'a,b\n\n\n1,"' + b"\n" * 99)
    assert error.message.endswith("line 4 is malformed: a quote is opened and never closed.")


def test_text_behind_a_closing_quote_is_an_error_that_names_its_line(path: Path) -> None:
    error = error_of(path, b'a,b\n1,2\n"3"x,4\n')
    assert error.message.endswith(
        "line 3 is malformed: there is text between a closing quote and the next delimiter."
    )
    assert "TENDER_PIPELINE_QUOTE_ESCAPE" in error.hint


def test_a_lone_carriage_return_outside_quotes_is_an_error(path: Path) -> None:
    error = error_of(path, b"a,b\n1,2\n3\r4,5\n")
    assert error.message.endswith("line 3 is malformed: a different line break is outside quotes.")
    assert "TENDER_PIPELINE_LINE_END" in error.hint


def test_a_truncated_gzip_file_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "tenders.csv.gz"
    data = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i**200) for i in range(4_000)))
    for end in (5, len(data) // 2, len(data) - 4):
        error = error_of(path, data[:end])
        assert str(path) in error.message
        assert error.hint == "Check that it exists, is readable and complete."
