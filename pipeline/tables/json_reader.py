"""Reads objects of JSON, one after the other or in a list, keeping their original bytes."""

from __future__ import annotations

import codecs
import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.tables.cells import ARROW_TYPES, Kind, common_kind
from pipeline.tables.formats import compression_of, first_bytes, refuse_other_contents
from pipeline.tables.json_records import (
    DECODER,
    NAN,
    NESTED_NAMES,
    Number,
    after_space,
    describe,
    json_error,
    kind_of,
    nested_names,
    spans,
    texts_at,
)
from pipeline.tables.streams import FileReader, not_utf_8, open_input
from pipeline.tables.table import in_batches
from pipeline.tables.texts import (
    check_absent,
    check_names,
    encodable,
    join_texts,
    own_name,
)
from pipeline.wording import LONGEST, marked, option, quoted, readable, written_as

CHUNK_BYTES = 1 << 20

RECORD_BYTES = 1 << 28
"""The longest record; without a limit, one could fill the memory."""

ESCAPED = len(r"\ud83d\ude00")
"""The longest part of JSON that cannot be judged before all of it is read, but for whole texts."""

CUT_OFF = "it is cut off"


class Record(NamedTuple):
    """A record as its file has it.

    Attributes:
        number: its number, from 1.
        before: the bytes between the record before and this one.
        raw: its bytes; b"" at the end of the file, where only bytes follow.
        value: what it holds.
    """

    number: int
    before: bytes
    raw: bytes
    value: Any = None


class JsonText:
    """The text of a file of JSON, which is parsed value by value: memory holds one record.

    Attributes:
        number: the number of the next record, from 1.
    """

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self.number = 1
        self._read = read
        # Bytes that are not UTF-8 become surrogates, so that the error can name their record.
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._size = CHUNK_BYTES
        self._text = ""
        self._at = 0  # what is before is parsed
        self._start = 0  # of the next record, as far as it is known
        self._taken = 0  # the end of the last record

    def peek(self) -> str:
        """Return the next character that is not white space; "" at the end."""
        while True:
            self._at = after_space(self._text, self._at)
            if self._at < len(self._text) or not self._read_more():
                return self._text[self._at : self._at + 1]

    def skip(self, character: str) -> bool:
        """Go on after the next character if it is a certain one; return whether it is."""
        is_next = self.peek() == character
        self._at += len(character) if is_next else 0
        return is_next

    def expect(self, character: str) -> None:
        """Go on after the next character.

        Raises:
            ValueError: it is another one.
        """
        if not self.skip(character):
            shown = readable(self._text[self._at :][:LONGEST])
            raise ValueError(f"unexpected text: {shown!r}" if self.peek() else CUT_OFF)

    def value(self) -> Any:
        """Parse the next value.

        Raises:
            ValueError: it is malformed, or the file is cut off.
            RecursionError: it is nested too deeply.
        """
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                is_open = error.msg.startswith("Unterminated string")
                is_cut_off = is_open or not self._text[error.pos :].strip()
                reason = CUT_OFF if is_cut_off else json_error(error, self._start)
                may_go_on = is_cut_off or error.pos > len(self._text) - ESCAPED
                if not (may_go_on and self._read_more()):
                    raise ValueError(reason) from error
                continue
            if end < len(self._text) or not self._read_more():  # a number may go on
                self._at = end
                return value

    def records(self, read: Callable[[JsonText], Iterator[Record]]) -> Iterator[Record]:
        """Read all records, one after the other or in one list; last, what is behind them.

        Raises:
            ValueError, RecursionError: see `value`; or there is more JSON behind the list.
        """
        if self.peek() == "[":
            yield from self.items(read)
        else:
            while self.peek():
                yield from read(self)
        self.expect("")
        yield Record(self.number, self._bytes(self._taken, self._at), b"")

    def items(self, read: Callable[[JsonText], Iterator[Record]]) -> Iterator[Record]:
        """Read the items of a list.

        Raises:
            ValueError, RecursionError: see `value`.
        """
        self.expect("[")
        if self.peek() != "]":
            yield from read(self)
            while self.skip(","):
                yield from read(self)
        self.expect("]")

    def record(self) -> Iterator[Record]:
        """Read a record.

        Raises:
            ValueError: it is no object; see also `value` and `end`.
        """
        self.begin()
        value = self.value()
        if not isinstance(value, dict):
            raise ValueError(f"it is {describe(value)}, not an object")
        yield self.end(value)

    def begin(self) -> None:
        """Begin a record with the next character that is not white space."""
        self.peek()
        self._start = self._at

    def end(self, value: Any) -> Record:
        """Return the record that ends here.

        Raises:
            UnicodeDecodeError: it is not UTF-8.
        """
        before, raw = self._bytes(self._taken, self._start), self._bytes(self._start, self._at)
        self._taken = self._start = self._at
        self._size = CHUNK_BYTES
        self.number += 1
        return Record(self.number - 1, before, raw, value)

    def _bytes(self, start: int, end: int) -> bytes:
        text = self._text[start:end]
        try:
            return text.encode()
        except UnicodeEncodeError:
            text.encode("utf-8", "surrogateescape").decode()  # raises an error with the byte
            raise

    def _read_more(self) -> bool:
        """Read on; return whether there was more.

        Raises:
            ValueError: the record is too long.
        """
        if len(self._text) - self._taken > RECORD_BYTES:
            raise ValueError(f"it has more than {RECORD_BYTES:,} bytes")
        chunk = self._read(self._size)
        self._size *= 2  # until a record ends: a long one would be parsed again and again
        self._text = self._text[self._taken :] + self._decoder.decode(chunk, final=not chunk)
        self._at -= self._taken
        self._start -= self._taken
        self._taken = 0
        return bool(chunk)


@contextmanager
def open_json(path: Path, noun: str, expected: str, hint: str) -> Iterator[JsonText]:
    """Open a file of JSON.

    Args:
        path: the file.
        noun: what an error calls a record.
        expected: the title of the format.
        hint: what to do about a file that is refused.

    Raises:
        InputError: it is empty, malformed, cut off, no UTF-8 or another kind of file, or a record
            is too long.
    """
    with open_input(path) as stream:
        text = JsonText(stream.read)
        try:
            text.skip("\ufeff")
            if not text.peek():
                raise InputError(f"{path} is empty.", hint)
            yield text
        except (ValueError, RecursionError) as error:
            refuse_other_contents(path, expected, first_bytes(path, compression_of(path)))
            where = f"{path}, {noun} {text.number}"
            if isinstance(error, UnicodeDecodeError):
                raise not_utf_8(path, where, error) from error
            fix = f"{hint} If so, fix {noun} {text.number}."
            raise InputError(f"{where}: {json_error(error)}.", fix) from error


DEPTH = 4
"""Keys that lead to a list in which rows are looked for."""

TAKE_OUT = "If the rows are in its list {}: jq {} FILE > ROWS.json."


def _with_rows_within(hint: str, only: dict[str, Any]) -> str:
    """Return the hint about the only record of a file, which may hold the rows in a list."""
    lists = dict(_lists(only))
    keys = max(lists, key=lists.__getitem__, default=())
    name = ".".join(keys)
    if not lists.get(keys) or len(name) > LONGEST:
        return hint
    path = shlex.quote("".join(f".{json.dumps(key)}" for key in keys))  # it is not to be trusted
    take_out = TAKE_OUT.format(quoted(name), path)
    # A column in the list would join the texts of all rows to one.
    is_of_rows = lists[keys] > 1 and f"'{name}." in hint
    return take_out if is_of_rows else f"{hint} {take_out}"


FROM_PANDAS = (
    "If pandas wrote the file, write it again with a record for each row: "
    'frame.to_json(FILE, orient="records", lines=True).'
)


def _lists(value: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the keys that lead to each list of objects, and how many these are."""
    if isinstance(value, list):
        yield keys, sum(isinstance(item, dict) for item in value)
    elif isinstance(value, dict) and len(keys) < DEPTH:
        for key, inner in value.items():
            yield from _lists(inner, (*keys, key))


HINT = (
    "Check that the file is complete, and that it holds JSON objects in UTF-8, one after the other "
    "or in one list."
)


@dataclass(frozen=True, slots=True)
class JsonBatch:
    """Records of a file of JSON.

    Attributes:
        texts: the text of each record.
        records: the records; the values are objects.
        kinds: the kind of each key of the file.
        trailing: the bytes after the last record of the file, such as the end of a list; None if
            the file goes on.
    """

    texts: Sequence[str]
    records: Sequence[Record]
    kinds: dict[str, Kind]
    trailing: bytes | None = None

    @property
    def numbers(self) -> Sequence[int]:
        """The number of each record, from 1."""
        return [record.number for record in self.records]

    def to_arrow(self) -> pa.RecordBatch:
        """Return the keys as columns; null where a record lacks one.

        Nested values are JSON text, as are texts of a key that also has nested values.

        Raises:
            InputError: a value has an unpaired surrogate, which Arrow's text cannot hold.
        """
        try:
            arrays = [self._array(name, kind) for name, kind in self.kinds.items()]
        except UnicodeEncodeError as error:
            raise InputError(
                "The table has an unpaired surrogate, "
                f"U+{ord(error.object[error.start]):04X}, which only JSON Lines can hold.",
                f"Fix the table, or write JSON Lines: {written_as('jsonl')}.",
            ) from error
        return pa.RecordBatch.from_arrays(arrays, schema=_schema(self.kinds))

    def _array(self, name: str, kind: Kind) -> pa.Array:
        values = [record.value.get(name) for record in self.records]
        match kind:
            case "int" | "large int":
                values = [value and int(value) for value in values]
            case "float":
                values = [value and float(value) for value in values]
            case "null" | "text":
                values = [*map(_text, values)]
            case "nested":  # as it is in the file
                texts = [record.raw.decode() for record in self.records]
                values = [
                    None if value is None else text[slice(*spans(text)[name])]
                    for value, text in zip(values, texts, strict=True)
                ]
        return pa.array(values, ARROW_TYPES.get(kind, pa.string()))


class JsonReader(FileReader):
    """A file of JSON objects. Opening it reads all of it: any record may have more keys.

    Attributes:
        schema: the keys of all records, in the order in which they first occur.
        in_list: whether they are in a list.
    """

    def __init__(self, path: Path, text_columns: Sequence[str], *_: object) -> None:
        super().__init__(path)
        self._wanted = text_columns
        self.in_list = False
        self._kinds: dict[str, Kind] = {}
        self._scan()
        check_names(self._kinds, path)
        self.schema = _schema(self._kinds)

    def batches(self, limit: int | None = None) -> Iterator[JsonBatch]:
        """Read the file from its beginning; see `Reader.batches`."""
        for records in in_batches(islice(self._records(), limit), lambda each: len(each.raw)):
            trailing = None if records[-1].raw else records.pop().before
            texts = [
                join_texts(text for values in self._texts(each) for text in values or ())
                for each in records
            ]
            yield JsonBatch(encodable(texts), records, self._kinds, trailing)

    def _scan(self) -> None:
        """Find the keys of all records and what their values are.

        Raises:
            InputError: a record is malformed, or no record has a text column that it needs.
        """
        columns: set[str] = set()
        nested: dict[str, None] = {}
        rows = 0
        first: dict[str, Any] = {}
        for record in self._records():
            if not record.raw:
                break
            rows += 1
            first = first or record.value
            for key, value in record.value.items():
                self._kinds[key] = common_kind(self._kinds.get(key, "null"), kind_of(value))
            if len(columns) < len(self._wanted):
                texts = zip(self._wanted, self._texts(record), strict=True)
                columns |= {name for name, values in texts if values is not None}
                if len(nested) < NESTED_NAMES:
                    nested |= dict.fromkeys(nested_names(record.value))
        if not rows:
            return
        columns |= {*self._kinds}
        there = [*self._kinds, *nested]
        self._wanted = [
            name if name in columns else own_name(there, name) or name for name in self._wanted
        ]
        absent = [name for name in self._wanted if name not in columns | {*there}]
        try:
            check_absent(there, absent, self._wanted, self.path)
        except InputError as error:
            if rows == 1:
                error.hint = _with_rows_within(marked(error.hint), first)
            raise

    def _texts(self, record: Record) -> list[list[str] | None]:
        """Return the texts of each text column; None where the record lacks the column."""
        return [self._texts_at(record, path) for path in self._wanted]

    def _texts_at(self, record: Record, path: str) -> list[str] | None:
        try:
            return texts_at(record.value, path)
        except ValueError as error:
            names = nested_names(record.value)
            within = (key for key in names if key.startswith(f"{path}.") and len(key) < LONGEST)
            name = next(within, f"{path}.NAME")
            raise InputError(
                f"{self.path}, record {record.number}: {error}.",
                FROM_PANDAS
                if name == f"{path}.0"
                else f"Name a key in it with a dot: {option('text_columns', repr(name))}.",
            ) from error

    def _records(self) -> Iterator[Record]:
        with open_json(self.path, "record", "JSON Lines", HINT) as text:
            self.in_list = text.peek() == "["
            yield from text.records(JsonText.record)


def _schema(kinds: dict[str, Kind]) -> pa.Schema:
    return pa.schema([(name, ARROW_TYPES.get(kind, pa.string())) for name, kind in kinds.items()])


def _text(value: Any) -> str | None:
    """Return a value as text, which cannot hold a NaN among texts or long numbers."""
    if isinstance(value, bool):
        return json.dumps(value)
    return None if isinstance(value, Number) and value == NAN else value
