from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.tables.csv_dialect import Dialect
from pipeline.tables.csv_records import CHUNK_BYTES, HINT_DAMAGED, read_lines
from pipeline.wording import Words
from tests.tables.rewriting import small_steps


def error_of(path: Path, data: bytes, dialect: Dialect | None = None) -> InputError:
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        list(read_lines(path, dialect or Dialect()))
    return caught.value


STATE = "State the encoding of the file: --encoding 'cp1252'."
UTF_8 = "State the encoding of the file: --encoding 'utf-8'. All of the file is UTF-8."
MADE = "Encodings that read the whole file, and the byte in them:"
LONE = "a\rb\r".encode("utf-16-le") + b"\x00\xd8" + "\r".encode("utf-16-le")


@pytest.mark.parametrize("chunk_bytes", [1, 2, 5, CHUNK_BYTES])
@pytest.mark.parametrize(
    ("data", "encoding", "said", "hint"),
    [
        (b"\xe9,b\n1,2\n", "utf-8", "line 1: byte 0xE9", f"{STATE} {MADE} cp1252 'é', cp1250 'é'"),
        (b"a,b\n1,2\ncaf\xe9,3\n4,5\n", "utf-8", "line 3: byte 0xE9", f"{STATE} {MADE} cp1252 'é'"),
        (
            *("é,b\né,".encode() + b"\xff\n", "utf-8", "line 2: byte 0xFF"),
            f"{Words(HINT_DAMAGED.format('UTF-8'))} {MADE} cp1252 'ÿ', cp1250 '˙', cp1251 'я'.",
        ),
        ("a\n\n\n€".encode()[:-1], "utf-8", "line 4: byte 0xE2", STATE),  # within a character
        (b"a\r\nb\r\n\x80\r\n", "utf-8", "line 3: byte 0x80", f"{STATE} {MADE} cp1252 '€', cp1250"),
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
        error = error_of(path, data, Dialect(encoding=encoding, line_end=line_end))
    assert error.message == f"{path}, {said} is not {encoding}."
    assert hint in error.hint


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
        error = error_of(path, data, Dialect(encoding=encoding))
    assert "would not come back byte for byte" in error.message
    assert encoding in error.message
    assert error.hint == "Convert the file to UTF-8 first."
