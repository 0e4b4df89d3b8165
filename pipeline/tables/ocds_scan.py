"""Cuts OCDS files into their releases and records, however large the packages are."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import InputError
from pipeline.tables.json_records import parsed
from pipeline.tables.streams import open_input

__all__ = ["TOKEN", "elements"]

CHUNK_BYTES = 1 << 20

ELEMENT_BYTES = 1 << 28
"""The longest release or record; without a limit, one could fill the memory."""

TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|["{}\[\]]', re.DOTALL)
"""A string, a bracket, or the quote of a string that the buffer cuts off."""

LISTS = (b'"releases"', b'"records"')

HINT = "Check that the file is complete, and that it holds OCDS packages, releases or records."
HINT_LIST = "Write each release on a line: jq -c '.[]' FILE > FILE.jsonl."


def elements(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield each release or record of a file with the bytes before it; at the end, the rest.

    The file holds packages, releases or records, one after the other. The last pair has the bytes
    after the last element, and no element.

    Raises:
        InputError: the file is not JSON, is cut off, or holds something else.
    """
    scan = _Scan(path)
    size = CHUNK_BYTES
    number = 1
    empty = True
    with open_input(path) as stream:
        while chunk := stream.read(size):
            size *= 2  # unless an element ends: long strings would be scanned again and again
            empty = empty and not chunk.strip()
            for each in scan.feed(chunk):
                size = CHUNK_BYTES
                number += 1
                yield each
            if scan.held > ELEMENT_BYTES:
                raise InputError(
                    f"{path}, release {number}: it has more than {ELEMENT_BYTES:,} bytes.", HINT
                )
    if empty:
        raise InputError(f"{path} is empty.", HINT)
    yield scan.rest(), b""


class _Scan:
    """Follows the brackets of a file. Positions are those in the buffer."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._buffer = b""
        self._at = 0  # what is before was scanned
        self._done = 0  # what is before was yielded
        self._begin = 0  # where the element under way begins
        self._enveloped = 0  # what is before is in the envelope
        self._envelope: list[bytes] = []  # the package under way, with 0 for each element
        self._depth = 0
        self._last = b""  # the string before
        self._is_record = False  # a record has a list of releases too
        self._is_package = False
        self._in_list = False

    @property
    def held(self) -> int:
        """How many bytes wait for the end of their element."""
        return len(self._buffer) - self._done

    def feed(self, chunk: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Scan more bytes, and yield the elements that they complete."""
        self._forget()
        self._buffer += chunk
        for found in TOKEN.finditer(self._buffer, self._at):
            token, self._at = found[0], found.end()
            if token == b'"':
                self._at = found.start()
                return
            if token in (b"{", b"["):
                self._opens(token, found.start())
            elif token in (b"}", b"]"):
                yield from self._closes(found.end())
            else:
                self._last = token
                self._is_record |= self._depth == 1 and token == b'"ocid"'
        self._at = len(self._buffer)

    def rest(self) -> bytes:
        """Return the bytes after the last element.

        Raises:
            InputError: an object is not complete.
        """
        if self._depth or self._at < len(self._buffer):
            raise self._malformed("it is cut off")
        self._check_between(len(self._buffer))
        return self._buffer[self._done :]

    def _forget(self) -> None:
        """Drop the bytes that were yielded."""
        done, self._buffer = self._done, self._buffer[self._done :]
        self._at -= done
        self._begin -= done
        self._enveloped -= done
        self._done = 0

    def _opens(self, token: bytes, at: int) -> None:
        if self._depth == 0:
            self._check_between(at)
            if token == b"[":
                raise InputError(f"{self._path} holds a list, not a package.", HINT_LIST)
            self._begin = self._enveloped = at
            self._is_record = self._is_package = False
        elif self._depth == 1 and token == b"[":
            if self._last in LISTS and not self._is_record:
                self._is_package = self._in_list = True
        elif self._depth == 2 and self._in_list:
            self._begin = at
        self._depth += 1

    def _closes(self, end: int) -> Iterator[tuple[bytes, bytes]]:
        self._depth -= 1
        if self._depth < 0:
            raise self._malformed("it has a bracket too many")
        if self._depth == 1:
            self._in_list = False
        if self._depth == (2 if self._is_package else 0) and (self._in_list or not self._depth):
            yield self._buffer[self._done : self._begin], self._buffer[self._begin : end]
            between = self._buffer[self._enveloped : self._begin]
            if not (self._envelope and between.strip() == b","):  # else it would grow
                self._envelope += [between, b"0"]
            self._done = self._enveloped = end
        if self._depth == 0:
            self._envelope.append(self._buffer[self._enveloped : end])
            self._enveloped = end
            self._check_envelope()

    def _check_envelope(self) -> None:
        text = b"".join(self._envelope)
        self._envelope.clear()
        if self._is_package:
            try:
                parsed(text.decode())
            except ValueError as error:
                raise self._malformed(str(error)) from error

    def _check_between(self, end: int) -> None:
        """Refuse text outside objects."""
        between = self._buffer[max(self._done, self._enveloped) : end]
        if between.removeprefix(codecs.BOM_UTF8).strip():
            raise self._malformed("there is text outside its objects")

    def _malformed(self, reason: str) -> InputError:
        return InputError(f"{self._path} is not OCDS in JSON: {reason}.", HINT)
