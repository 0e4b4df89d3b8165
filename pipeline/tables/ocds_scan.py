"""Cuts OCDS files into their releases and records, however large the packages are."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.errors import InputError
from pipeline.tables.contents import refuse_other_contents
from pipeline.tables.json_reader import RawRecord, Scan
from pipeline.tables.json_records import parsed

__all__ = ["elements"]

LISTS = (b'"releases"', b'"records"')


def elements(path: Path) -> Iterator[RawRecord]:
    """Return each release and record of a file; last, the bytes after them.

    The file holds packages, releases or records, one after the other or in one list.

    Raises:
        InputError: the file is not JSON, is cut off, or holds something else.
    """
    return _Scan(path).records()


@dataclass(slots=True)
class _Outermost:
    """An object that is in no other, as far as it was scanned.

    Attributes:
        is_record: whether it has an identifier; its list of releases does not make it a package.
        is_package: whether it has a list of elements.
        in_list: whether the scan is within this list.
        envelope: the bytes of a package, with 0 for each element.
    """

    is_record: bool = False
    is_package: bool = False
    in_list: bool = False
    envelope: list[bytes] = field(default_factory=list)

    def add_element(self, before: bytes) -> None:
        """Note an element, and the bytes of the envelope before it."""
        if not (self.envelope and before.strip() == b","):  # else the envelope would grow
            self.envelope += [before, b"0"]


class _Scan(Scan):
    noun = "release"
    hint = "Check that the file is complete, and that it holds OCDS packages, releases or records."

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._assigned = 0  # what is before belongs to an element or to an envelope
        self._last_string = b""
        self._outermost = _Outermost()
        self._between: bytes | None = None  # what must precede an outermost object; None at first

    def _forget(self, dropped: int) -> None:
        super()._forget(dropped)
        self._assigned -= dropped

    def _see(self, string: bytes) -> None:
        self._last_string = string
        if string == b'"ocid"':
            self._outermost.is_record = True

    def _open(self, start: int) -> None:
        outermost, token = self._outermost, self._buffer[start : start + 1]
        if self._depth == 0:
            if self._between is None:
                self._between = b"[" if token == b"[" else b""
            if token == b"[":
                return
            self._check_outside(start, self._between)
            self._between = self._between and b","
            self._outermost = _Outermost()
            self._start = self._assigned = start
        elif self._depth == 1 and token == b"[":
            if self._last_string in LISTS and not outermost.is_record:
                outermost.is_package = outermost.in_list = True
        elif self._depth == 2 and outermost.in_list:
            self._start = start
        self._depth += 1

    def _close(self, end: int) -> RawRecord | None:
        outermost = self._outermost
        if self._depth == 0 and self._between:
            return None  # the end of the list
        self._depth -= 1
        match self._depth:
            case 2 if outermost.in_list:
                return self._element(end)
            case 1:
                outermost.in_list = False
            case 0 if outermost.is_package:
                self._check_envelope(end)
            case 0:
                return self._element(end)
            case -1:
                raise self._malformed("it has a bracket too many")
        return None

    def _element(self, end: int) -> RawRecord:
        self._outermost.add_element(self._buffer[self._assigned : self._start])
        self._assigned = end
        return self._record(end)

    def _rest(self) -> RawRecord:
        if self._between is None and not self._buffer.strip():
            raise InputError(f"{self._path} is empty.", self.hint)
        open_list = self._between and not self._buffer.rstrip().endswith(b"]")
        if self._depth or open_list or self._scanned < len(self._buffer):
            raise self._malformed("it is cut off")
        ends = {b"[": b"[]", b",": b"]"}
        self._check_outside(len(self._buffer), ends.get(self._between or b"", b""))
        return RawRecord(self._buffer[self._yielded :], b"")

    def _check_envelope(self, end: int) -> None:
        """Check a package that ends, apart from its elements."""
        text = b"".join([*self._outermost.envelope, self._buffer[self._assigned : end]])
        self._assigned = end
        try:
            parsed(text.decode())
        except ValueError as error:
            raise self._malformed(str(error)) from error

    def _check_outside(self, end: int, expected: bytes) -> None:
        """Refuse text outside objects other than the brackets and commas of their list."""
        between = self._buffer[self._assigned : end]
        if b"".join(between.removeprefix(codecs.BOM_UTF8).split()) != expected:
            raise self._malformed("there is text outside its objects")

    def _malformed(self, reason: str) -> InputError:
        refuse_other_contents(self._path, "OCDS")
        return InputError(f"{self._path} is not OCDS in JSON: {reason}.", self.hint)
