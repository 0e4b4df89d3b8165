"""Reads and writes OCDS releases and records, keeping their bytes and those of their packages."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.answers import SYSTEMS
from pipeline.errors import InputError, OutputError
from pipeline.settings import TEXT_COLUMNS
from pipeline.tables.formats import refuse_other_contents
from pipeline.tables.json_reader import TOKEN, RawRecord, Scan, with_rows_within
from pipeline.tables.json_records import (
    NESTED_NAMES,
    item_spans,
    member_spans,
    nested_names,
    parsed,
    texts_at,
)
from pipeline.tables.json_writer import JsonWriter, json_bytes
from pipeline.tables.streams import FileReader, not_utf_8
from pipeline.tables.table import BATCH_CHARS, BATCH_ROWS, Batch, NewColumn, Reader
from pipeline.tables.texts import check_absent, encodable, join_texts
from pipeline.wording import option, written_as

__all__ = ["OcdsReader", "OcdsWriter", "check", "elements", "open_reader", "open_writer"]


def open_reader(path: Path, text_columns: Sequence[str], *_: object) -> OcdsReader:
    """Open a file of OCDS; see `pipeline.tables.open_reader`."""
    return OcdsReader(path, text_columns)


def open_writer(path: Path, name: str, reader: Reader, _: Sequence[pa.Field]) -> OcdsWriter:
    """Open a file of OCDS; see `pipeline.tables.open_writer`.

    Raises:
        OutputError: the input is no OCDS.
    """
    if not isinstance(reader, OcdsReader):
        raise OutputError(
            "Only OCDS data can be written as OCDS.",
            f"Write JSON Lines, with a name that ends in .jsonl: {written_as('jsonl')}.",
        )
    return OcdsWriter(path, name)


def check(_batch: Batch, _rows: int) -> None:
    """Do nothing: the values are those of the input."""


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


TEXTS = (
    "tender.title",
    "tender.description",
    "tender.lots.title",
    "tender.lots.description",
    "tender.items.description",
)
"""Where a release says what is bought."""

LATER = tuple(
    f"{part}.{text}"
    for part in ("awards", "contracts")
    for text in ("title", "description", "items.description")
)
"""Where a release says it whose tender does not, or that has none."""

NAMES = ("ocid", "release_id", "text")
"""The columns for other formats."""

NO_OCID = (
    "Fix the release. If the file is not OCDS, take the list of its rows, such as results, out of "
    "it: jq .results FILE > ROWS.json."
)

OURS = "tender_pipeline"
"""The member of a release that has all new columns, under their names."""


class _Row(NamedTuple):
    """A release or record; see `OcdsBatch`."""

    text: str
    raw: bytes
    before: bytes
    values: Sequence[str | None]


@dataclass(frozen=True, slots=True)
class OcdsBatch:
    """Releases and records.

    Attributes:
        texts: the text of each.
        raw: each as in the file.
        before: the bytes before each.
        values: the values of each for the columns of other formats.
        schema: these columns.
        trailing: the bytes after the last one of the file.
    """

    texts: Sequence[str]
    raw: Sequence[bytes]
    before: Sequence[bytes]
    values: Sequence[Sequence[str | None]]
    schema: pa.Schema
    trailing: bytes = b""

    def to_arrow(self) -> pa.RecordBatch:
        """Return the identifiers and the text of each release or record."""
        columns = zip(*self.values, strict=True) if self.values else [()] * len(self.schema)
        arrays = [pa.array(column, pa.string()) for column in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def head(self, rows: int) -> OcdsBatch:
        """Return the first ones only; the writer ends their package."""
        first = slice(rows)
        return OcdsBatch(
            self.texts[first], self.raw[first], self.before[first], self.values[first], self.schema
        )


class OcdsReader(FileReader):
    """A file of OCDS packages, releases or records.

    Attributes:
        schema: the identifiers and the text, for other formats, and what an earlier run added.
    """

    def __init__(self, path: Path, text_columns: Sequence[str]) -> None:
        super().__init__(path)
        self._paths = TEXTS if tuple(text_columns) == TEXT_COLUMNS else text_columns
        self._missing = [] if self._paths is TEXTS else [*self._paths]
        self._names: dict[str, None] = {}  # of the fields of releases with a tender
        self._added: tuple[str, ...] = ()
        first = next(elements(path))
        if first.raw:
            _, release = self._read(1, first.raw)
            self._added = tuple(release.get(OURS) or ())
        self.schema = pa.schema([(name, pa.string()) for name in (*NAMES, *self._added)])

    def batches(self) -> Iterator[OcdsBatch]:
        """Read the file from its beginning; see `Reader.batches`."""
        rows: list[_Row] = []
        size = 0
        trailing = b""
        for number, (before, raw) in enumerate(elements(self._path), 1):
            if not raw:
                trailing = before
                break
            text, release = self._read(number, raw)
            rows.append(_Row(text, raw, before, self._values(text, release)))
            size += len(raw)
            if len(rows) == BATCH_ROWS or size >= BATCH_CHARS:
                yield self._batch(rows)
                rows, size = [], 0
        self._check_found()
        if rows or trailing:
            yield self._batch(rows, trailing)

    def _check_found(self) -> None:
        """Refuse a text column that no release has, if there is a tender that could have it.

        Raises:
            InputError: no text column is there, or one is misspelt.
        """
        if self._names:
            missing, self._missing = self._missing, []  # one warning is enough
            check_absent([*self._names], missing, self._paths, self._path)

    def _batch(self, rows: Sequence[_Row], trailing: bytes = b"") -> OcdsBatch:
        texts, raw, before, values = zip(*rows, strict=True) if rows else ((), (), (), ())
        return OcdsBatch(texts, raw, before, values, self.schema, trailing)

    def _values(self, text: str, release: dict[str, Any]) -> Sequence[str | None]:
        ours = release.get(OURS) or {}
        values = [release["ocid"], release.get("id"), text, *map(ours.get, self._added)]
        texts = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
        return [None if each is None else encodable([each])[0] for each in texts]

    def _read(self, number: int, raw: bytes) -> tuple[str, dict[str, Any]]:
        """Return the text and the release of a release or record."""
        try:
            text = raw.decode()
            element = parsed(text)
            if not isinstance(element.get("ocid"), str):
                if number == 1 and (hint := with_rows_within("", element)):
                    raise InputError(f"{self._path} is not OCDS: its object has no ocid.", hint)
                raise InputError(f"{self._path}, release {number}: it has no ocid.", NO_OCID)
            release = _release(element)
            found = {path: texts_at(release, path) for path in self._paths}
            joined = _joined(found)
            if not joined and self._paths is TEXTS:
                joined = _joined({path: texts_at(release, path) for path in LATER})
        except UnicodeDecodeError as error:
            raise not_utf_8(self._path, f"{self._path}, release {number}", error) from error
        except ValueError as error:
            raise InputError(
                f"{self._path}, release {number}: {error}.",
                f"Fix the release, or name its text: {option('text_columns', 'tender.title')}.",
            ) from error
        self._missing = [path for path in self._missing if found[path] is None]
        if self._missing and "tender" in release and len(self._names) < NESTED_NAMES:
            self._names |= dict.fromkeys([*release, *nested_names(release)])
        return joined, {**release, "ocid": element["ocid"]}


def _joined(found: dict[str, list[str] | None]) -> str:
    parts = (part for texts in found.values() for part in texts or ())
    return encodable([join_texts(dict.fromkeys(parts))])[0]  # lots often repeat the title


def release_span(text: str) -> tuple[int, int]:
    """Return where the release that is classified begins and ends in a release or record."""
    spans = member_spans(text)
    element = parsed(text)
    if isinstance(element.get("compiledRelease"), dict):
        return spans["compiledRelease"]
    place = _last_with_text(element.get("releases"))
    if place is not None:
        return item_spans(text, spans["releases"][0])[place]
    return 0, len(text)


def _release(element: dict[str, Any]) -> dict[str, Any]:
    """Return the release to classify: of a record, the compiled or else the last one."""
    compiled = element.get("compiledRelease")
    if isinstance(compiled, dict):
        return compiled
    releases = element.get("releases")
    place = _last_with_text(releases)
    found: dict[str, Any] = element if place is None else releases[place]  # type: ignore[index]
    return found


def _last_with_text(releases: Any) -> int | None:
    """Return the place of the last release that has a tender, or else an award or a contract.

    Others are links, for example.
    """
    items = releases if isinstance(releases, list) else []
    found = [(at, {*each}) for at, each in enumerate(items) if isinstance(each, dict)]
    tenders = [at for at, members in found if "tender" in members]
    later = [at for at, members in found if members & {"awards", "contracts"}]
    return next(reversed(tenders or later), None)


Edit = tuple[int, str]
"""A position in a text, and what is inserted there."""


class OcdsWriter(JsonWriter):
    """A file of OCDS packages, releases or records being written; see `JsonWriter`."""

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(path, name)
        self._open = b""  # the brackets that are open

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Write the batch's releases and records with their codes.

        Raises:
            TypeError: the batch is of another format.
        """
        if not isinstance(batch, OcdsBatch):
            raise TypeError(f"{type(batch).__name__} is not OCDS")
        names = [column.name for column in columns]
        rows = zip(*(column.values for column in columns), strict=True)
        for before, raw, row in zip(batch.before, batch.raw, rows, strict=True):
            self._copy(before)
            self._stream.write(_classified(raw, dict(zip(names, row, strict=True))))
        self._copy(batch.trailing)

    def close(self, metadata: dict[str, str]) -> None:
        """Finish the file; a sample ends in the middle of a package."""
        closing = self._open[::-1].translate(bytes.maketrans(b"{[", b"}]"))
        self._stream.write(closing)
        super().close(metadata)

    def _copy(self, between: bytes) -> None:
        """Write the bytes between elements, and note which brackets they open and close."""
        for found in TOKEN.finditer(between):
            if found[0] in (b"{", b"["):
                self._open += found[0]
            elif found[0] in (b"}", b"]"):
                self._open = self._open[:-1]
        self._stream.write(between)


def _classified(raw: bytes, values: dict[str, Any]) -> bytes:
    """Return a release or record with its codes inserted."""
    text = raw.decode()
    start, end = release_span(text)
    spans, release = member_spans(text, start), parsed(text[start:end])
    edits = [(end - 1, _member(OURS, values, not release))]
    if isinstance(release.get(OURS), dict):  # an earlier run added columns with other names
        members = [_member(name, value, empty=False) for name, value in values.items()]
        edits = [(spans[OURS][1] - 1, "".join(members))]
    if isinstance(release.get("tender"), dict):
        edits += _codes(text, spans["tender"], release["tender"], values)
    for at, inserted in sorted(edits, reverse=True):
        text = text[:at] + inserted + text[at:]
    return text.encode()


def _codes(
    text: str, span: tuple[int, int], tender: dict[str, Any], values: dict[str, Any]
) -> list[Edit]:
    """Return what to insert into a tender: its classification and the additional ones."""
    additional = tender.get("additionalClassifications", [])
    main = tender.get("classification")
    known = additional if isinstance(additional, list) else []
    new = [each for each in _classifications(values) if not _is_among(each, [main, *known])]
    start, end = span
    members = ""
    if "classification" not in tender and new:
        members = _member("classification", new.pop(0), not tender)
    if "additionalClassifications" not in tender and new:
        members += _member("additionalClassifications", new, empty=False)
    edits = [(end - 1, members)]
    if "additionalClassifications" in tender and isinstance(additional, list) and new:
        last = member_spans(text, start)["additionalClassifications"][1] - 1
        items = ", ".join(map(_json, new))
        edits.append((last, f", {items}" if additional else items))
    return edits


def _classifications(values: dict[str, Any]) -> list[dict[str, str]]:
    """Return the codes that were found, in the order of the systems."""
    found = []
    for name, code in values.items():
        fits = [each for each in SYSTEMS if name.endswith(f"{each}_code")]
        if fits and code is not None:
            system = max(fits, key=len)  # unspsc_code ends in psc_code
            title = values[f"{name.removesuffix('_code')}_title"]
            found.append({"scheme": system.upper(), "id": code, "description": title})
    return found


def _is_among(each: dict[str, str], known: Sequence[Any]) -> bool:
    """Return whether a tender has a code already: the items of the list must differ."""
    return any(
        isinstance(other, dict)
        and other.get("scheme") == each["scheme"]
        and str(other.get("id")).partition("-")[0] == each["id"]  # CPV may have a check digit
        for other in known
    )


def _member(name: str, value: Any, empty: bool) -> str:
    return f"{'' if empty else ', '}{_json(name)}: {_json(value)}"


def _json(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_json(key)}: {_json(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_json, value))}]"
    return json_bytes(value).decode()
