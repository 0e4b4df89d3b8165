"""Reads JSON Lines, or a JSON list of objects, keeping every record's original bytes."""

from __future__ import annotations

import codecs
import json
import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.quoting import LONGEST, quoted, readable
from pipeline.tables.formats import SAMPLE_BYTES, is_json_list, refuse_other_contents
from pipeline.tables.json_records import (
    NAN,
    NESTED_NAMES,
    Kind,
    Number,
    kind_of,
    merged,
    nested_names,
    parsed,
    raw_members,
    texts_at,
)
from pipeline.tables.streams import FileReader, not_utf_8, open_input
from pipeline.tables.table import BATCH_CHARS, BATCH_ROWS
from pipeline.tables.texts import check_absent, check_names, encodable, join_texts, own_name
from pipeline.wording import marked, option, written_as

__all__ = ["TOKEN", "JsonBatch", "JsonReader", "RawRecord", "Scan", "with_rows_within"]

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


TAKE_OUT = "If the rows are in its list {}: jq {} FILE > ROWS.json."


def with_rows_within(hint: str, only: dict[str, Any]) -> str:
    """Return the hint about the only record of a file, which may hold the rows in a list."""
    lists = {key: len(value) for key, value in only.items() if isinstance(value, list)}
    name = max(lists, key=lists.__getitem__, default="")
    if not name or len(name) > LONGEST:
        return hint
    path = shlex.quote(f".{json.dumps(name)}")  # the file is not to be trusted
    take_out = TAKE_OUT.format(quoted(name), path)
    # A column in the list would join the texts of all rows to one.
    return take_out if f"'{name}." in hint else f"{hint} {take_out}".strip()


TYPES: dict[Kind, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "large int": pa.int64(),
    "float": pa.float64(),
}
"""The Arrow types of keys; others are text."""

HINT_ITEM = "Fix the item: each item of the list is one JSON object in UTF-8."
HINT_RECORD = "Fix the record: in JSON Lines, each line is one JSON object in UTF-8."


class _Record(NamedTuple):
    """A record as it is in the file.

    Attributes:
        line: the number of its line or, in a list, of the item, from 1.
        raw: its bytes, with the blank lines before it; in a list, with what is before it there.
        members: the members of the object; None at the end of a file with more bytes there.
    """

    line: int
    raw: bytes
    members: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class JsonBatch:
    """Records of a JSON Lines file, or of a list.

    Attributes:
        texts: the text of each record.
        raw: each record's bytes as in the file, with blank lines before it and its line end; in a
            list, with the bracket or comma before it.
        kinds: the kind of each key of the file.
        trailing: the bytes after the last record of the file: blank lines, or the list's end.
        in_list: whether the records are items of a list.
    """

    texts: Sequence[str]
    raw: Sequence[bytes]
    kinds: dict[str, Kind]
    trailing: bytes = b""
    in_list: bool = False

    @property
    def lines(self) -> Sequence[bytes]:
        """Each record as JSON Lines have it."""
        if not self.in_list:
            return self.raw
        objects = (raw[raw.index(b"{") :] for raw in self.raw)
        # JSON has no line ends within its strings.
        return [b" ".join(map(bytes.strip, each.splitlines())) + b"\n" for each in objects]

    def to_arrow(self) -> pa.RecordBatch:
        """Return the keys as columns; null where a record lacks one.

        Nested values are JSON text, as are texts of a key that also has nested values.

        Raises:
            InputError: a value has an unpaired surrogate, which Arrow's text cannot hold.
        """
        lines = [line.decode("utf-8-sig") for line in self.lines]
        records = [parsed(line) for line in lines]
        members = [raw_members(line) for line in lines] if "nested" in self.kinds.values() else []
        try:
            arrays = [
                _nested_array(name, members) if kind == "nested" else _array(name, kind, records)
                for name, kind in self.kinds.items()
            ]
        except UnicodeEncodeError as error:
            raise InputError(
                f"The table has an unpaired surrogate, U+{ord(error.object[error.start]):04X}, "
                "which only JSON Lines can hold.",
                f"Fix the table, or write JSON Lines: {written_as('jsonl')}.",
            ) from error
        return pa.RecordBatch.from_arrays(arrays, schema=_schema(self.kinds))

    def head(self, rows: int) -> JsonBatch:
        """Return the first records only."""
        return replace(self, texts=self.texts[:rows], raw=self.raw[:rows], trailing=b"")


class JsonReader(FileReader):
    """A file of JSON Lines, or a list. Opening it reads all of it: any record may have more keys.

    Attributes:
        schema: the keys of all records, in the order in which they first occur.
        in_list: whether the file is a list.
    """

    def __init__(self, path: Path, text_columns: Sequence[str]) -> None:
        super().__init__(path)
        self._wanted = text_columns
        self.in_list = has_list(path)
        self._kinds: dict[str, Kind] = {}
        self._scan()
        check_names(self._kinds, path)
        self.schema: pa.Schema = _schema(self._kinds)

    def batches(self) -> Iterator[JsonBatch]:
        """Read the file from its beginning; see `Reader.batches`."""
        texts: list[str] = []
        raws: list[bytes] = []
        size = 0
        trailing = b""
        for line, raw, members in self._records():
            if members is None:
                trailing = raw
                break
            found = self._texts(line, members)
            texts.append(join_texts(text for values in found for text in values or ()))
            raws.append(raw)
            size += len(raw)
            if len(raws) == BATCH_ROWS or size >= BATCH_CHARS:
                yield JsonBatch(encodable(texts), raws, self._kinds, in_list=self.in_list)
                texts, raws, size = [], [], 0
        if raws or trailing:
            yield JsonBatch(encodable(texts), raws, self._kinds, trailing, self.in_list)

    def _scan(self) -> None:
        """Find the keys of all records and what their values are.

        Raises:
            InputError: a record is malformed, or no record has a text column that it needs.
        """
        found: set[str] = set()
        nested: dict[str, None] = {}
        rows = 0
        first: dict[str, Any] = {}
        for line, _, members in self._records():
            if members is None:
                break
            rows += 1
            first = first or members
            for key, value in members.items():
                self._kinds[key] = merged(self._kinds.get(key, "null"), kind_of(value))
            if len(found) < len(self._wanted):
                texts = zip(self._wanted, self._texts(line, members), strict=True)
                found |= {name for name, values in texts if values is not None}
                if len(nested) < NESTED_NAMES:
                    nested |= dict.fromkeys(nested_names(members))
        if not rows:
            if self.in_list:
                return  # [] says that there are no rows; a file without a byte may be broken
            raise InputError(f"{self._path} is empty.", "It needs at least one record.")
        found |= {*self._kinds}
        there = [*self._kinds, *nested]
        self._wanted = [
            name if name in found else own_name(there, name) or name for name in self._wanted
        ]
        absent = [name for name in self._wanted if name not in found | {*there}]
        try:
            check_absent(there, absent, self._wanted, self._path)
        except InputError as error:
            if rows == 1:
                error.hint = with_rows_within(marked(error.hint), first)
            raise

    def _texts(self, line: int, record: dict[str, Any]) -> list[list[str] | None]:
        """Return the texts of each text column; None where the record lacks the column."""
        try:
            return [texts_at(record, path) for path in self._wanted]
        except ValueError as error:
            raise InputError(
                f"{self._place(line)}: {error}.",
                f"Name a key in it with a dot: {option('text_columns', 'tender.title')}.",
            ) from error

    def _place(self, line: int) -> str:
        return f"{self._path}, {'item' if self.in_list else 'line'} {line}"

    def _records(self) -> Iterator[_Record]:
        return self._listed() if self.in_list else self._on_lines()

    def _listed(self) -> Iterator[_Record]:
        for number, (before, raw) in enumerate(list_items(self._path), 1):
            yield _Record(number, before + raw, self._parsed(number, raw) if raw else None)

    def _on_lines(self) -> Iterator[_Record]:
        blank = b""
        line = 0
        for line, raw in enumerate(_lines(self._path), 1):
            content = raw.removeprefix(codecs.BOM_UTF8) if line == 1 else raw
            if not content.strip():
                blank += raw
                continue
            yield _Record(line, blank + raw, self._parsed(line, content))
            blank = b""
        if blank:
            yield _Record(line, blank, None)

    def _parsed(self, line: int, content: bytes) -> dict[str, Any]:
        try:
            return parsed(content.decode())
        except UnicodeDecodeError as error:
            if line == 1 and not self.in_list:
                refuse_other_contents(self._path, "JSON Lines", content)
            raise not_utf_8(self._path, self._place(line), error) from error
        except ValueError as error:
            if line == 1 and not self.in_list:
                refuse_other_contents(self._path, "JSON Lines", content)
            reason = f"the record is not JSON: {error}"
        hint = HINT_ITEM if self.in_list else HINT_RECORD
        raise InputError(f"{self._place(line)}: {reason}.", hint)


def _lines(path: Path) -> Iterator[bytes]:
    """Yield every line with its line end, which the last line may lack."""
    number = 1
    with open_input(path) as stream:
        buffered = BufferedReader(stream, CHUNK_BYTES)
        while line := buffered.readline(RECORD_BYTES + 2):
            if len(line) - line.endswith(b"\n") > RECORD_BYTES:
                raise InputError(
                    f"{path}, line {number}: it has more than {RECORD_BYTES:,} bytes.", HINT_RECORD
                )
            yield line
            number += 1


def _schema(kinds: dict[str, Kind]) -> pa.Schema:
    return pa.schema([(name, TYPES.get(kind, pa.string())) for name, kind in kinds.items()])


def _array(name: str, kind: Kind, records: Sequence[dict[str, Any]]) -> pa.Array:
    values = [record.get(name) for record in records]
    match kind:
        case "int" | "large int":
            return pa.array([value and int(value) for value in values], pa.int64())
        case "float":
            return pa.array([value and float(value) for value in values], pa.float64())
        case "bool":
            return pa.array(values, pa.bool_())
        case _:
            return pa.array(map(_text, values), pa.string())


def _text(value: Any) -> str | None:
    """Return a value as text, which cannot hold a NaN among texts or long numbers."""
    if isinstance(value, bool):
        return json.dumps(value)
    return None if isinstance(value, Number) and value == NAN else value


def _nested_array(name: str, members: Sequence[dict[str, str]]) -> pa.Array:
    values = [record.get(name) for record in members]
    return pa.array([None if value == "null" else value for value in values], pa.string())
