"""Cuts a JSON file into its records, however large it is, by following its brackets."""

from __future__ import annotations

import codecs
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError
from pipeline.quoting import readable
from pipeline.tables.contents import SAMPLE_BYTES, is_json_list
from pipeline.tables.streams import open_input

__all__ = ["TOKEN", "RawRecord", "Scan", "has_list", "list_items"]

TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|["{}\[\]]', re.DOTALL)
"""A string, a bracket, or the quote of a string that the buffer cuts off."""

CHUNK_BYTES = 1 << 20

RECORD_BYTES = 1 << 28
"""The longest record; without a limit, one could fill the memory."""


class RawRecord(NamedTuple):
    """A record as its file has it.

    Attributes:
        before: the bytes between the record before and this one.
        raw: its bytes; b"" at the end of the file, where only bytes follow.
    """

    before: bytes
    raw: bytes


class Scan(ABC):
    """Follows the brackets of a file. Positions are those in the buffer."""

    noun: str
    """What an error calls a record."""

    hint: str
    """What to do about a file that is refused."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._buffer = b""
        self._scanned = 0  # the end of the last token
        self._yielded = 0  # the end of the last record
        self._start = 0  # of the record that is open
        self._depth = 0

    def records(self) -> Iterator[RawRecord]:
        """Yield each record of the file; last, the bytes after them.

        Raises:
            InputError: the file is malformed or cut off, or a record is too long.
        """
        size = CHUNK_BYTES
        number = 1
        with open_input(self._path) as stream:
            while chunk := stream.read(size):
                size *= 2  # unless a record ends: long strings would be scanned again and again
                for record in self.feed(chunk):
                    size = CHUNK_BYTES
                    number += 1
                    yield record
                if len(self._buffer) - self._yielded > RECORD_BYTES:
                    raise InputError(
                        f"{self._path}, {self.noun} {number}: it has more than "
                        f"{RECORD_BYTES:,} bytes.",
                        self.hint,
                    )
        yield self._rest()

    def feed(self, chunk: bytes) -> Iterator[RawRecord]:
        """Scan more bytes, and yield the records that they complete."""
        self._forget(self._yielded)
        self._buffer += chunk
        for found in TOKEN.finditer(self._buffer, self._scanned):
            token = found[0]
            if token == b'"':
                self._scanned = found.start()
                return
            self._scanned = found.end()
            if token in (b"{", b"["):
                self._open(found.start())
            elif token in (b"}", b"]"):
                if record := self._close(found.end()):
                    yield record
            elif self._depth == 1:
                self._see(token)
        self._scanned = len(self._buffer)

    def _forget(self, dropped: int) -> None:
        """Drop the bytes that were yielded."""
        self._buffer = self._buffer[dropped:]
        self._scanned -= dropped
        self._start -= dropped
        self._yielded = 0

    def _record(self, end: int) -> RawRecord:
        """Return the record that ends here."""
        start = self._start
        record = RawRecord(self._buffer[self._yielded : start], self._buffer[start:end])
        self._yielded = end
        return record

    @abstractmethod
    def _open(self, start: int) -> None:
        """Note a bracket that opens."""

    @abstractmethod
    def _close(self, end: int) -> RawRecord | None:
        """Note a bracket that closes; return the record that it completes, if any."""

    def _see(self, string: bytes) -> None:  # noqa: B027 - most files need nothing of it
        """Note a string that is in one bracket only."""

    @abstractmethod
    def _rest(self) -> RawRecord:
        """Return the bytes after the last record, or refuse the file if it may not end there."""


def has_list(path: Path) -> bool:
    """Return whether a file begins like one list of JSON objects, other than OCDS releases."""
    with open_input(path) as stream:
        return is_json_list(stream.read(SAMPLE_BYTES))


def list_items(path: Path) -> Iterator[RawRecord]:
    """Return each object or list in the list of a file; last, the bytes after them.

    Raises:
        InputError: the file is not one list of objects, or is cut off.
    """
    return _Scan(path).records()


class _Scan(Scan):
    noun = "item"
    hint = "Check that the file is complete, and that it is one list of JSON objects."

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._items = 0

    def _open(self, start: int) -> None:
        self._depth += 1
        if self._depth == 2:
            self._start = start

    def _close(self, end: int) -> RawRecord | None:
        self._depth -= 1
        if self._depth != 1:
            return None
        self._items += 1
        before = self._buffer[self._yielded : self._start]
        expected = b"[" if self._items == 1 else b","
        if before.removeprefix(codecs.BOM_UTF8).strip() != expected:
            raise self._malformed("there is something else before it", before)
        return self._record(end)

    def _rest(self) -> RawRecord:
        rest = self._buffer[self._yielded :]
        end = b"]" if self._items else b"[]"
        if b"".join(rest.removeprefix(codecs.BOM_UTF8).split()) != end:
            raise self._malformed("the list is cut off, or something follows it", rest)
        return RawRecord(rest, b"")

    def _malformed(self, reason: str, found: bytes) -> InputError:
        shown = readable(found.decode("utf-8", "replace"))
        return InputError(f"{self._path}, item {self._items}: {reason}: {shown!r}.", self.hint)
