from __future__ import annotations

import codecs
import gzip
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import InputError, SettingsError
from pipeline.settings import CsvOptions
from pipeline.tables.csv_dialect import Dialect
from pipeline.tables.csv_records import CHUNK_BYTES, HINT_DAMAGED, read_lines
from pipeline.tables.csv_table import CsvReader
from pipeline.tables.table import BATCH_ROWS
from pipeline.wording import Words, how_many
from tests.tables.csv_files import error_of, opened
from tests.tables.rewriting import csv_rows, rewrite, small_steps


def test_the_text_columns_are_joined_in_the_order_asked(path: Path) -> None:
    reader = opened(path, b"a,b,c\n 1  2 ,x,y\n,x,\n", "c", "a")
    assert [batch.texts for batch in reader.batches()] == [["y. 1 2", ""]]


@pytest.mark.parametrize(
    ("data", "options", "numbers"),
    [
        (b"a,b\n1,2\n3,4\n", {}, [2, 3]),
        (b"a,b\n\n1,2\n\n \n3,4\n\n", {}, [3, 6]),
        (b"\r\n\r\na,b\r\n\r\n1,2\r\n3,4", {}, [5, 6]),
        (b'a,b\n1,"x\n\ny"\n\n"\n",4\n', {}, [2, 4]),
        (b"a\tb\n\t\n\n\t\n\t4\n", {"delimiter": "tab"}, [2, 4, 5]),
        (b"a,b\r\r1,2\r3,4\r", {"line_end": "cr"}, [3, 4]),
        (b"\n1,2\n\n3,4\n", {"header": False}, [2, 4]),
        (b"A title\n\na,b\n\n1,2\n", {"header_row": 3}, [5]),
    ],
)
def test_rows_have_the_numbers_that_a_spreadsheet_shows(
    path: Path, data: bytes, options: dict[str, Any], numbers: list[int]
) -> None:
    for batch_rows in (1, 2, BATCH_ROWS):
        with small_steps(1 << 20, batch_rows, 9**9):
            batches = [*opened(path, data, **options).batches()]
        assert [number for each in batches for number in each.numbers] == numbers


def test_the_line_for_excel_counts_and_is_not_a_row(path: Path) -> None:
    path.write_bytes(b"sep=|\na;b|c\n1|x\n2|y|z\n")
    reader = CsvReader(path, ["c"], CsvOptions())
    assert reader.schema.names == ["a;b", "c"]
    with pytest.raises(InputError, match="line 4: 3 fields where 2 are expected"):
        list(reader.batches())
    path.write_bytes(b"sep=|\na;b|c\n1|x\n\xff|y\n")
    with pytest.raises(InputError, match="line 4: byte 0xFF is not utf-8"):
        list(CsvReader(path, ["c"], CsvOptions()).batches())
    path.write_bytes(b'sep=|\n1|x\n2|"y\n')
    with pytest.raises(InputError, match="begins on line 3"):
        list(CsvReader(path, [], CsvOptions(header=False)).batches())


def test_backslashes_are_only_escapes_when_that_is_stated(path: Path) -> None:
    assert csv_rows(opened(path, b'a,b\n"x\\",1\n')) == [["x\\", "1"]]
    stated = opened(path, b'a,b\n"x\\"y",1\n', quote_escape="backslash")
    assert csv_rows(stated) == [['x"y', "1"]]


@pytest.mark.parametrize(
    ("data", "hinted"),
    [
        (b"T-1,Road works,1200.50\n", True),
        (b"T-1,2024-01-31\n", True),
        (b"T-1," + b"Resurfacing of a road " * 3 + b"\n", True),
        (b"Road works\n", True),
        (b"id^title\n1^Road works\n", True),
        (b"id,title,year\n1,Road works,2024\n", False),
    ],
)
def test_a_first_record_that_looks_like_a_row_may_be_one(
    path: Path, data: bytes, hinted: bool
) -> None:
    path.write_bytes(data)
    with pytest.raises(InputError, match="no column 'description'") as caught:
        CsvReader(path, ["description"], CsvOptions())
    assert ("use --no-header: the columns are then 1, 2" in caught.value.hint) == hinted
    assert ("what separates them: --delimiter" in caught.value.hint) == (b"," not in data)
    assert caught.value.hint.startswith("If there are more columns") == (b"," not in data)
    with pytest.raises(InputError) as caught:
        CsvReader(path, ["description"], CsvOptions(header=False))
    assert "--no-header" not in caught.value.hint


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "title",
    [
        "Tenders 2025;;|as of 1 March;;|",
        "Tenders, 2025||",
        "sep=;|Stra\xdfen|",
        '"Tenders|of 2025"|',
        "a|" * 19,
        "  |",
    ],
)
def test_titles_above_the_column_names_stay_there(
    path: Path, title: str, end: str, encoding: str
) -> None:
    options = CsvOptions(encoding="cp1252" if encoding == "cp1252" else None)
    table = f"{title}Nr;Gegenstand;Wert|1;Stra\xdfenbau;2|".replace("|", end)
    path.write_bytes(table.encode(encoding))
    reader = CsvReader(path, ["Gegenstand"], options)
    assert reader.schema.names == ["Nr", "Gegenstand", "Wert"]
    assert csv_rows(reader) == [["1", "Stra\xdfenbau", "2"]]
    rewrite(reader, path.with_name("o.csv"), [("c", "t")])
    named = table.replace("Wert", 'Wert;cpv_code;"the ""title"", in full"')
    expected = named.replace("nbau;2", "nbau;2;c;t")
    assert path.with_name("o.csv").read_bytes() == expected.encode(encoding)
    path.write_bytes(path.read_bytes() + "2;x".encode(reader.dialect.encoding))
    line = table.count(end) + 1
    with pytest.raises(InputError, match=f"line {line}: 2 fields where 3 are expected"):
        list(CsvReader(path, ["Gegenstand"], options).batches())


@pytest.mark.parametrize(
    "above",
    [
        "id;what;value\n1;x;2\n",
        'a;b;c\n"x\ny";;\n',
        "Tenders;of;2025;and;more\n\n",
        "Nummer;gegenstand;\n1;x;\n",
        "what;id\nx;1\n",
    ],
)
def test_rows_above_the_column_names_are_no_titles(path: Path, above: str) -> None:
    data = f"{above}Nr;Gegenstand;Wert\n1;Bau;2\n".encode()
    with pytest.raises(InputError) as caught:
        opened(path, data, "Gegenstand")
    line = above.count("\n") + 1
    assert f"The column names seem to be in line {line}." in caught.value.hint
    assert caught.value.hint.endswith(f"name it: --header-row {line}.")
    reader = CsvReader(path, ["Gegenstand"], CsvOptions(header_row=line))
    assert csv_rows(reader) == [["1", "Bau", "2"]]
    rewrite(reader, path.with_name("o.csv"), [("c", "t")])
    new = 'Wert;cpv_code;"the ""title"", in full"'
    written = data.decode().replace("Wert", new).replace("Bau;2", "Bau;2;c;t")
    assert path.with_name("o.csv").read_text() == written


@pytest.mark.parametrize("title", ["Tenders 2025;;\n", "Tenders, 2025\nas of 1 March\n"])
@pytest.mark.parametrize("delimiter", [None, ";"])
def test_an_error_about_a_table_below_titles_names_the_line_of_its_column_names(
    path: Path, title: str, delimiter: str | None
) -> None:
    """The only column that it can name is the title, which nobody wants as the text."""
    data = f"{title}Nr;Gegenstand;Wert\n1;Road works, A14;2\n".encode()
    with pytest.raises(InputError) as caught:
        opened(path, data, "description", delimiter=delimiter)
    line = title.count("\n") + 1
    hint = f"The column names seem to be in line {line}. If so, name it: --header-row {line}."
    assert caught.value.hint == hint


@pytest.mark.parametrize("data", [b"a,b\n1,x\n", b"a\nPaint, red\nDesks, oak, 2 m\n", b"\t\n"])
def test_an_error_about_another_table_names_no_line(path: Path, data: bytes) -> None:
    """Texts with commas, in a table of one column, are no column names."""
    with pytest.raises(InputError, match="has no column") as caught:
        opened(path, data, "description")
    assert "--header-row" not in caught.value.hint


def test_a_stated_header_row_is_taken_whatever_is_above_or_below_it(path: Path) -> None:
    path.write_text('sep=;\n"x\ny;z"\n"what\never";b\n1;2\n')
    reader = CsvReader(path, ["b"], CsvOptions(header_row=4))
    assert reader.schema.names == ["what\never", "b"]
    assert csv_rows(reader) == [["1", "2"]]
    with pytest.raises(InputError, match="no column 'b'"):
        CsvReader(path, ["b"], CsvOptions(header_row=6))
    path.write_text("b\n1\n")
    for line in (3, 4):
        with pytest.raises(InputError, match=f"has no line {line} with column names"):
            CsvReader(path, ["b"], CsvOptions(header_row=line))
    path.write_bytes(b"R\xe9sum\xe9\nb\n1\n")
    with pytest.raises(InputError, match="line 1: byte 0xE9 is not utf-8"):
        CsvReader(path, ["b"], CsvOptions(header_row=2))
    with pytest.raises(SettingsError, match="exclude each other"):
        CsvOptions(header=False, header_row=1)


def test_a_gzip_file_of_several_members_is_read_to_its_end(tmp_path: Path) -> None:
    members = [gzip.compress(part) for part in (b"a,b\n", b"", b"1,", b"2\n")]
    assert csv_rows(opened(tmp_path / "t.csv.gz", b"".join(members))) == [["1", "2"]]


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\r\n", b"  \n\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("header", [True, False])
def test_a_file_without_a_record_is_empty(path: Path, data: bytes, header: bool) -> None:
    error = error_of(path, data, header=header)
    assert error.message == f"{path} is empty."
    assert error.hint == "A CSV file needs at least a line with column names."


@pytest.mark.parametrize(
    "data",
    [
        "id,title\n1,für\0Städte\n".encode("cp1252"),
        b"SQLite format 3\0\x10\0\xff" + b"\0" * 4000,
    ],
    ids=["a NUL", "binary"],
)
def test_no_other_file_with_nuls_is_taken_for_utf_16_without_a_mark(
    path: Path, data: bytes
) -> None:
    assert "cp1252" in error_of(path, data).hint


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, b""])
@pytest.mark.parametrize("end", [b"\x00\xd8\n\x00", b"\n"], ids=["half a pair", "cut off"])
def test_no_other_encoding_is_suggested_for_damaged_utf_16(
    path: Path, mark: bytes, end: bytes
) -> None:
    error = error_of(path, mark + "id,title\n1,a".encode("utf-16-le") + end)
    assert error.message.startswith(f"{path}, line 2: byte 0x")
    assert error.hint == (
        "The characters before it are utf-16-le, so another --encoding would change them: correct "
        "this line, or export the table again."
    )


@pytest.mark.parametrize(("line", "fields"), [(b"3", 1), (b'""', 1), (b"3,4,5", 3), (b"3,4,", 3)])
def test_a_ragged_row_is_an_error_that_names_its_line(path: Path, line: bytes, fields: int) -> None:
    error = error_of(path, b"a,b\n1,2\n\n" + line + b'\n"1",2\n3,"also malformed\n')
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


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'a,b\n"1\n2\n",2\n3\n', "line 5: 1 field where 2 are expected."),
        (b'a,b\n1,2\n\n3,"4\n5,6\n', "line 4 is malformed: a quote is opened and never closed."),
        (
            b'a,b\n1,2\n"3"x,4\n',
            "line 3 is malformed: there is text between a closing quote and the next delimiter.",
        ),
        (
            b"a,b\n1,2\n3\r4,5\n",
            "line 3 is malformed: a different line break is outside quotes.",
        ),
    ],
)
def test_a_malformed_record_is_an_error_that_names_its_line(
    path: Path, data: bytes, message: str
) -> None:
    error = error_of(path, data)
    assert error.message.startswith(str(path))
    assert error.message.endswith(message)
    assert error.hint == (
        "Fix the record, or state what separates the fields: --delimiter. If quotes are part of "
        "the text (with tabs or |), set TENDER_PIPELINE_QUOTE_ESCAPE=none; if each has a backslash "
        "before it, TENDER_PIPELINE_QUOTE_ESCAPE=backslash; if the lines do not end with a line "
        "feed, TENDER_PIPELINE_LINE_END."
    )


def test_a_cell_may_have_very_many_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.tables.csv_records.RECORD_CHARS", 150)
    cell = "x\n" * 60
    with small_steps(7, 1, 1):
        rows = csv_rows(opened(path, f'a,b\n1,"{cell}"\n3,"4\n"\n'.encode()))
    assert rows == [["1", cell], ["3", "4\n"]]


@pytest.mark.parametrize("rest", [b'3,"4\n' + b"5,6\n" * 300, b"x" * 1_001], ids=["quote", "line"])
def test_a_record_without_an_end_is_an_error_before_it_fills_the_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch, rest: bytes
) -> None:
    monkeypatch.setattr("pipeline.tables.csv_records.RECORD_CHARS", 1000)
    with small_steps(100, 1, 1):
        error = error_of(path, b"a,b\n1,2\n" + rest)
    assert error.message.endswith(
        "line 3 is malformed: it is too long, perhaps because a quote is opened and never closed."
    )
    assert "TENDER_PIPELINE_LINE_END" in error.hint


def error_of_lines(path: Path, data: bytes, dialect: Dialect | None = None) -> InputError:
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        list(read_lines(path, dialect or Dialect()))
    return caught.value


STATE = "State the encoding of the file: --encoding 'cp1252'."
UTF_8 = "State the encoding of the file: --encoding 'utf-8'. All of the file is UTF-8."
MADE = "A word of it in encodings that read the whole file:"
LONE = "a\rb\r".encode("utf-16-le") + b"\x00\xd8" + "\r".encode("utf-16-le")


@pytest.mark.parametrize("chunk_bytes", [1, 2, 5, CHUNK_BYTES])
@pytest.mark.parametrize(
    ("data", "encoding", "said", "hint"),
    [
        (b"\xe9,b\n1,2\n", "utf-8", "line 1: byte 0xE9", f"{STATE} {MADE} cp1252 'é', cp850 'Ú',"),
        (
            *(b"a,b\n1,2\ncaf\xe9,3\n4,5\n", "utf-8", "line 3: byte 0xE9"),
            f"{STATE} {MADE} cp1252 'café'.",
        ),
        (
            *("é,b\né,".encode() + b"\xff\n", "utf-8", "line 2: byte 0xFF"),
            f"{Words(HINT_DAMAGED.format('UTF-8'))} {MADE} cp1252 'ÿ', cp1250 '˙',",
        ),
        ("a\n\n\n€".encode()[:-1], "utf-8", "line 4: byte 0xE2", STATE),  # within a character
        (b"a\r\nb\r\n\x80\r\n", "utf-8", "line 3: byte 0x80", f"{STATE} {MADE} cp1252 '€', latin1"),
        ("“a”\n".encode(), "ascii", "line 1: byte 0xE2", UTF_8),
        ("“a”\n".encode(), "cp1252", "line 1: byte 0x9D", UTF_8),
        (b"a,b\n1,2\n.", "utf-16-le", "line 1: byte 0x2E", UTF_8),
        (b"a\nb\n\x81\n", "cp1252", "line 3: byte 0x81", "--encoding 'latin1'"),
        (LONE, "utf-16-le", "line 3: byte 0x00", "another --encoding would change them"),
    ],
)
def test_a_byte_that_is_not_a_character_is_an_error_that_names_its_line(
    path: Path, data: bytes, encoding: str, said: str, hint: str, chunk_bytes: int
) -> None:
    line_end = "\r" if data == LONE else "\n"
    with small_steps(chunk_bytes, 1, 1):
        error = error_of_lines(path, data, Dialect(encoding=encoding, line_end=line_end))
    assert error.message == f"{path}, {said} is not {encoding}."
    assert hint in error.hint


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("id,опис\n1,Закупівля паперу для школи № 5\n", "cp1251"),
        ("id,description\n1,Travaux à Besançon, Áÿñé, côté\n", "cp1252"),
        ("id,description\n1,Fournitures pour écoles\n", "cp850"),
        ("id,description\n1,Προμήθεια ειδών γραφείου\n", "cp1253"),
        ("id,description\n1,שירותי ניקיון למשרדים ולבתי ספר\n", "cp1255"),
        ("id,description\n1,شراء أثاث مكتبي\n", "cp1256"),
        ("id,description\n1,采购办公家具\n2,道路养护和照明工程\n", "gb18030"),
        ("id,description\n1,사무용 가구 구매\n", "cp949"),
    ],
)
def test_the_encoding_that_is_named_first_is_that_of_the_letters(
    path: Path, text: str, encoding: str
) -> None:
    error = error_of_lines(path, text.encode(encoding), Dialect())
    assert f"--encoding '{encoding}'" in error.hint


def test_a_word_shows_which_of_several_encodings_is_right(path: Path) -> None:
    error = error_of_lines(path, "id,text\n1,Kelių priežiūra\n".encode("cp1257"), Dialect())
    assert f"{MADE} cp1252 'prieþiûra', cp1250 'prieţiűra', cp1257 'priežiūra'" in error.hint


@pytest.mark.parametrize("chunk_bytes", [1, 3, CHUNK_BYTES])
@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("cp932", b"a,b\n1,\x87\x90\n"),  # a character of two codes
        ("big5", b"a,b\n1,\xa2\x40\n"),
        ("iso2022_jp", b"a,b\n1,\x1b(B2\n"),  # a switch to the set that is on already
        ("iso2022_jp", b"a,b\n1,2\x1b(B"),
        ("iso2022_jp", b'a,b\n1,\x1b$B$"'),  # a set that is never left
        ("iso2022_jp", b"a,b\n1,\x1b\x80\n"),  # characters that it does not have
        ("unicode_escape", b"a,b\n1,2\n"),
    ],
)
def test_bytes_that_would_not_come_back_are_refused(
    path: Path, encoding: str, data: bytes, chunk_bytes: int
) -> None:
    with small_steps(chunk_bytes, 1, 1):
        error = error_of_lines(path, data, Dialect(encoding=encoding))
    assert "would not come back byte for byte" in error.message
    assert encoding in error.message
    assert error.hint == "Convert the file to UTF-8 first."
