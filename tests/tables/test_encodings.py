"""Any encoding that Python knows either works or is one clear error, before anything is done."""

from __future__ import annotations

from encodings.aliases import aliases
from pathlib import Path

import pytest

from pipeline.errors import PipelineError
from pipeline.settings import CsvOptions
from pipeline.tables import open_reader
from pipeline.tables.csv_table import CsvReader
from tests.tables.rewriting import rewrite_all, texts_of

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
