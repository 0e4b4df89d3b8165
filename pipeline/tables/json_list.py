"""Cuts a file that is one JSON list into its items, however large it is."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import InputError
from pipeline.quoting import readable
from pipeline.tables.contents import SAMPLE_BYTES, is_json_list
from pipeline.tables.json_scan import RawRecord, Scan
from pipeline.tables.streams import open_input

__all__ = ["has_list", "list_items"]


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
