from __future__ import annotations

import codecs
import csv
import io
from encodings.aliases import aliases
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError, PipelineError, SettingsError
from pipeline.settings import CsvOptions
from pipeline.tables.csv_dialect import SAMPLE_BYTES, Dialect, detect
from pipeline.tables.csv_table import CsvReader
from pipeline.tables.formats import open_reader
from tests.tables.rewriting import folder, rewrite_all, texts_of


def detected(path: Path, data: bytes | str, **options: Any) -> Dialect:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return detect(path, CsvOptions(**options))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    "template",
    [
        "a~b\n1~2\n",
        "a~b",  # a header alone
        "a~b\n1",  # a short last line
        "a~b~c\n1~2~3\n4~5~6\n7~",
        'a~b\n"x,y;z|w\tv",1\n'.replace(",1", "~1"),  # delimiters within quotes
        '"a~b"~"c"\n"1~2~3"~"4"\n',
        '"a\nb"~c\n"1\n\n2"~3\n',  # line breaks within quotes
        '"say ""a~b"" twice"~c\nx~y\n',
        "\n\na~b\n\n1~2\n",  # blank lines
        "a~b\nfew, words; here\n1~2\n3~4\n5~6\n".replace("here", "here~7"),
    ],
)
def test_the_delimiter_is_the_one_that_cuts_records_alike(
    path: Path, template: str, delimiter: str
) -> None:
    assert detected(path, template.replace("~", delimiter)).delimiter == delimiter


TEXT = ["text"]


@pytest.mark.parametrize(
    ("data", "wanted", "delimiter"),
    [
        ("name;price;share\nscrews;1,50;2,5\nnails;0,30;1,25\n", [], ";"),  # decimal commas
        ("name;price\nscrews;1,50\nnails;0,30\n", [], ";"),
        ("name, in full;price;share\nscrews;1,50;2,50\nnails;2;1\n", [], ";"),
        (
            "name, in full;price;share\nscrews, long;1;2\nnails, lo",
            [],
            ";",
        ),  # the end of the sample
        ("text;n\nbolts, nuts, screws;1\nnails;2\nglue, tape;3\n", [], ";"),
        ("", [], ","),
        ("a", [], ","),
        ("a\n", [], ","),
        ("a\nsome words\nmore\n", [], ","),
        ("a\nx; y\nz|w\n", [], ","),
        ("a,b;text\n1,2;road\n3,4;x", TEXT, ";"),
        ("a,b;text\n1,2;road\n3,4;x", [], ","),
        ("a,b;text\n1,2;road\n3,4;x", ["b;text"], ","),
        ("a,b;text\n1,2;road\n3,4;x", ["Text"], ","),  # names agree exactly
        ("a,b|title|text\n1,2|road|x\n", ["text", "title"], "|"),
        ("a;b,text\n1;2,road\n3;4,x\n", ["text", "other"], ","),
        ('"text";n\n"road, x, y",1\n', TEXT, ";"),
        ("text\na;b\nc;d\n", TEXT, ","),
        ("text;n\n1;2\n", ["text", "n"], ";"),
    ],
)
def test_the_delimiter_is_one_that_finds_the_text_columns_or_more_of_them(
    path: Path, data: str, wanted: list[str], delimiter: str
) -> None:
    path.write_text(data)
    assert detect(path, CsvOptions(), wanted).delimiter == delimiter


@pytest.mark.parametrize(("delimiter", "encoding"), [("漢", "latin-1"), ("é", "ascii")])
def test_a_delimiter_that_the_encoding_lacks_is_refused(
    path: Path, delimiter: str, encoding: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        detected(path, b"a,b\n1,2\n", delimiter=delimiter, encoding=encoding)
    assert f"The delimiter {delimiter!r} does not exist" in caught.value.message
    assert caught.value.hint == "Use another --delimiter, or another --encoding."


@pytest.mark.parametrize(
    ("data", "line_end"),
    [
        ("a,b\n1,2\n", "\n"),
        ("a,b\r\n1,2\r\n", "\n"),
        ("a,b\r\r\n1,2\r\r\n", "\n"),
        ("a,b\r1,2\r", "\r"),
        ("a,b", "\n"),
        ("", "\n"),
        ("\n\na,b", "\n"),
        ('a,"b\rc"\n1,2\n', "\n"),  # line breaks within quotes are no line ends
        ('a,"b\nc"\r1,2\r', "\r"),
        ('"a ""x\n"" b",c\r1,2\r', "\r"),
        ('"b\r\nc",a\n1,2\n', "\n"),
        ('a 5" pipe,b\r1,"x\ny"\r', "\r"),  # a quote within a field opens nothing
        ('a;"b\r\nis cut off here', "\n"),
        ('a;"b\ris cut off here', "\r"),
    ],
)
def test_lines_end_as_the_first_one_does(path: Path, data: str, line_end: str) -> None:
    assert detected(path, data).line_end == line_end


def test_escaped_quotes_do_not_end_the_quotes_around_them(path: Path) -> None:
    dialect = detected(path, '"a\\"\n",b\r1,2\r', quote_escape="backslash")
    assert (dialect.line_end, dialect.delimiter) == ("\r", ",")


@pytest.mark.parametrize(
    ("stated", "mark", "codec"),
    [
        (None, codecs.BOM_UTF8, "utf-8"),
        (None, codecs.BOM_UTF16_LE, "utf-16-le"),
        (None, codecs.BOM_UTF16_BE, "utf-16-be"),
        (None, codecs.BOM_UTF32_LE, "utf-32-le"),
        (None, codecs.BOM_UTF32_BE, "utf-32-be"),
        ("utf-8-sig", codecs.BOM_UTF8, "utf-8"),
        ("UTF8", codecs.BOM_UTF8, "utf-8"),
        ("utf-8-sig", b"", "utf-8"),
        ("utf-16", codecs.BOM_UTF16_BE, "utf-16-be"),
        ("utf-16", codecs.BOM_UTF16_LE, "utf-16-le"),
        ("utf-16", b"", "utf-16-le"),
        ("utf-16-be", b"", "utf-16-be"),
        ("utf-32", codecs.BOM_UTF32_BE, "utf-32-be"),
        ("latin-1", b"", "iso8859-1"),
        ("windows-1252", b"", "cp1252"),
    ],
)
def test_a_byte_order_mark_says_the_encoding_and_agrees_with_a_stated_one(
    path: Path, stated: str | None, mark: bytes, codec: str
) -> None:
    dialect = detected(path, mark + "é;b\r1;2".encode(codec), encoding=stated)
    assert dialect == Dialect(";", codec, mark, "\r")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("names", ["id;title", "№;название", "номер;説明", "a"])
def test_utf_16_without_a_mark_is_known_by_its_nuls(path: Path, codec: str, names: str) -> None:
    data = (f"{names}\n" + 20 * "2;Ремонт дороги\n").encode(codec)
    assert detected(path, data).encoding == codec


def test_utf_16_in_cells_does_not_make_a_file_utf_16(path: Path) -> None:
    cell = "Road repair works".encode("utf-16-le")
    assert detected(path, b"id;title\n1;" + cell + b"\n") == Dialect(";")
    assert detected(path, b"id\0;title\0;a\n1;" + cell + b";\n") == Dialect(";")


def test_another_encodings_mark_is_not_taken_for_one(path: Path) -> None:
    dialect = detected(path, "ÿþ;b\n".encode("latin-1"), encoding="latin-1")
    assert (dialect.encoding, dialect.mark) == ("iso8859-1", b"")


@pytest.mark.parametrize(
    "stated", ["utf-7", "iso2022_kr", "idna", "punycode", "raw_unicode_escape"]
)
def test_an_encoding_that_cannot_be_cut_into_records_is_refused(path: Path, stated: str) -> None:
    with pytest.raises(InputError, match="would not come back byte for byte") as caught:
        detected(path, b"a,b\n1,2\n", encoding=stated)
    assert caught.value.hint == "Convert the file to UTF-8 first."


def test_a_sample_of_the_beginning_decides(path: Path) -> None:
    """The sample may cut the last line, and a character, in two."""
    line = "é;1,5\n".encode()
    data = b"a;b\n" + line * (SAMPLE_BYTES // len(line)) + b"x,y,z\r" * 100_000
    dialect = detected(path, data)
    assert (dialect.delimiter, dialect.line_end) == (";", "\n")


def test_the_first_cells_may_be_longer_than_the_sample(path: Path) -> None:
    dialect = detected(path, 'a;b\r"' + "x, y\n" * SAMPLE_BYTES + '";1\r')
    assert (dialect.delimiter, dialect.line_end) == (";", "\r")


@pytest.mark.parametrize(
    ("line", "delimiter"), [("sep=;", ";"), ("SEP=,", ","), ('"sep=;"', ";"), ("sep=\t", "\t")]
)
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_a_line_for_excel_before_the_header_says_the_delimiter(
    path: Path, line: str, delimiter: str, mark: bytes
) -> None:
    before = mark + f"{line}\r\n".encode()
    dialect = detected(path, before + b"id;text|id,text\tb\r\n1;a|1,a\tb\r\n")
    assert (dialect.delimiter, dialect.mark, dialect.lines_before) == (delimiter, mark, 1)
    stated = detected(path, before + b"id|text\r\n1|a\r\n", delimiter="|")
    assert (stated.delimiter, stated.lines_before) == ("|", 1)


def test_a_line_for_excel_that_names_no_delimiter_is_refused(path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot separate fields"):
        detected(path, "sep= \nid text\n1 a\n")


def test_a_header_that_begins_like_a_line_for_excel_is_a_header(path: Path) -> None:
    for first in ("sep=;text", "sep=;;", "sep=", '"sep=;'):
        assert detected(path, f"{first}\n1;a\n").lines_before == 0


WORDS = st.text(st.sampled_from("ab ,;|\t\"\n'é5"), max_size=8)


@given(
    rows=st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=8),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    terminator=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_whatever_is_quoted_the_delimiter_and_the_line_end_are_found(
    rows: list[tuple[str, str, str]], delimiter: str, terminator: str
) -> None:
    buffer = io.StringIO()
    writer = csv.writer(
        buffer, delimiter=delimiter, lineterminator=terminator, quoting=csv.QUOTE_ALL
    )
    writer.writerows([("id", "text", "n"), *rows])
    with folder() as place:
        dialect = detected(place / "t.csv", buffer.getvalue())
    assert (dialect.delimiter, dialect.line_end) == (delimiter, terminator[-1])


NAMES = sorted(
    {
        *aliases.values(),
        *("idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape", "utf_8_sig"),
        *("aliases", "oem", "palmos", "rot13", "base64"),
    }
)
TABLES = [
    "a,description\n1,roads\n",
    "a,description\n1,Straße — 漢字あ가 🙂\n",
    "a,description\n1,\ud83d\n",
    "\ud83d,description\n1,roads\n",
    "a,description\n1,x\x1b$By~{z+2D0-\\u\\ud800\\\n",
]
TITLE = "Ŝtrasse — 漢字あ가 🙂 é \ud83d"


def contents(table: str, encoding: str) -> set[bytes]:
    """Return a table's bytes in an encoding, as far as that can be, and in some that it is not."""
    written = {table.encode("utf-8", "surrogatepass"), table.encode("utf-16", "surrogatepass")}
    written |= {table.encode("raw_unicode_escape"), table.encode("ascii", "backslashreplace")}
    try:
        written.add(table.encode(encoding))
        written.add(table.encode(encoding, "replace"))
    except (UnicodeError, LookupError):
        pass  # not in this one
    return written


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of bytes that unicode_escape doubts
@pytest.mark.parametrize("encoding", NAMES)
def test_an_encoding_works_or_is_an_error_that_says_what_to_do(
    tmp_path: Path, encoding: str
) -> None:
    source, output = tmp_path / "t.csv", tmp_path / "out.csv"
    for data in {data for table in TABLES for data in contents(table, encoding)}:
        source.write_bytes(data)
        try:
            reader = open_reader(source, ["description"], CsvOptions(encoding=encoding))
            assert isinstance(reader, CsvReader)
            assert len(reader.schema) == 2
            texts = texts_of(reader)
        except PipelineError as error:
            assert error.hint
            continue
        "".join(texts).encode()  # as it is hashed and sent
        written = rewrite_all(reader, output, (TITLE, TITLE))
        for line in data.decode(reader.dialect.encoding).splitlines():
            assert line.encode(reader.dialect.encoding).strip(b"\0") in written
