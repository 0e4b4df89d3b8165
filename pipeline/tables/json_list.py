"""Cuts a file that is one JSON list into its items, however large it is."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import InputError
from pipeline.quoting import readable
from pipeline.tables.contents import SAMPLE_BYTES, is_json_list
from pipeline.tables.json_records import TOKEN, RawRecord, raw_records
from pipeline.tables.streams import open_input

__all__ = ["has_list", "list_items"]

HINT = "Check that the file is complete, and that it is one list of JSON objects."


def has_list(path: Path) -> bool:
    """Return whether a file begins like one list of JSON objects, other than OCDS releases."""
    with open_input(path) as stream:
        return is_json_list(stream.read(SAMPLE_BYTES))


def list_items(path: Path) -> Iterator[RawRecord]:
    """Return each object or list in the list of a file; last, the bytes after them.

    Raises:
        InputError: the file is not one list of objects, or is cut off.
    """
    return raw_records(path, _Scan(path), "item", HINT)


class _Scan:
    """Follows the brackets of a file. Positions are those in the buffer."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._buffer = b""
        self._scanned = 0  # the end of the last token
        self._yielded = 0  # the end of the last item
        self._start = 0
        self._depth = 0
        self._items = 0

    @property
    def held(self) -> int:
        """How many bytes wait for the end of their item."""
        return len(self._buffer) - self._yielded

    def feed(self, chunk: bytes) -> Iterator[RawRecord]:
        """Scan more bytes, and yield the items that they complete."""
        dropped, self._yielded = self._yielded, 0
        self._buffer = self._buffer[dropped:] + chunk
        self._scanned -= dropped
        self._start -= dropped
        for found in TOKEN.finditer(self._buffer, self._scanned):
            token = found[0]
            if token == b'"':
                self._scanned = found.start()
                return
            self._scanned = found.end()
            if token in (b"{", b"["):
                self._depth += 1
                self._start = found.start() if self._depth == 2 else self._start
            elif token in (b"}", b"]"):
                self._depth -= 1
                if self._depth == 1:
                    yield self._item()
        self._scanned = len(self._buffer)

    def rest(self) -> RawRecord:
        """Return the bytes after the last item.

        Raises:
            InputError: they do not end the list.
        """
        rest = self._buffer[self._yielded :]
        end = b"]" if self._items else b"[]"
        if b"".join(rest.removeprefix(codecs.BOM_UTF8).split()) != end:
            raise self._malformed("the list is cut off, or something follows it", rest)
        return RawRecord(rest, b"")

    def _item(self) -> RawRecord:
        self._items += 1
        before = self._buffer[self._yielded : self._start]
        expected = b"[" if self._items == 1 else b","
        if before.removeprefix(codecs.BOM_UTF8).strip() != expected:
            raise self._malformed("there is something else before it", before)
        item = RawRecord(before, self._buffer[self._start : self._scanned])
        self._yielded = self._scanned
        return item

    def _malformed(self, reason: str, found: bytes) -> InputError:
        shown = readable(found.decode("utf-8", "replace"))
        return InputError(f"{self._path}, item {self._items}: {reason}: {shown!r}.", HINT)
