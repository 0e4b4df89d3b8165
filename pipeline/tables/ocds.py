"""Reads and writes OCDS releases and records, keeping their bytes and those of their packages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.answers import SYSTEMS
from pipeline.errors import InputError, OutputError
from pipeline.settings import TEXT_COLUMNS
from pipeline.tables.cells import Kind
from pipeline.tables.json_reader import JsonBatch, JsonText, Record, open_json
from pipeline.tables.json_records import (
    DECODER,
    NESTED_NAMES,
    nested_names,
    spans,
    texts_at,
)
from pipeline.tables.json_writer import JsonWriter, json_bytes
from pipeline.tables.streams import FileReader
from pipeline.tables.table import Batch, NewColumn, Reader, in_batches
from pipeline.tables.texts import check_absent, encodable, join_texts
from pipeline.wording import option, quoted, written_as


def check(_batch: Batch, _rows: int) -> None:
    """Do nothing: the values are those of the input."""


LISTS = ("releases", "records")


HINT = "Check that the file is complete, and that it holds OCDS packages, releases or records."


def elements(path: Path) -> Iterator[Record]:
    """Yield each release and record of a file; last, the bytes after them.

    The file holds packages, releases or records, one after the other or in one list.

    Raises:
        InputError: the file is not JSON, is cut off, or holds something else.
    """
    with open_json(path, "release", "OCDS", HINT) as text:
        yield from text.records(_outermost)


def _outermost(text: JsonText) -> Iterator[Record]:
    """Yield an object that is in no other: a release or record, or those of a package.

    The list of releases of what has an identifier does not make it a package.

    Raises:
        ValueError, RecursionError: see `JsonText.value`.
    """
    members: dict[str, Any] = {}
    is_package = False
    text.begin()
    text.expect("{")
    while not text.skip("}"):
        if members:
            text.expect(",")
        if text.peek() != '"':
            text.expect('"')
        key = text.value()
        text.expect(":")
        if key in members:
            raise ValueError(f"the key {quoted(key)} occurs twice in an object")
        if key in LISTS and "ocid" not in members and text.peek() == "[":
            is_package = True
            yield from text.items(JsonText.record)
            members[key] = []
        else:
            members[key] = text.value()
    if not is_package:
        yield text.end(members)


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


class OcdsReader(FileReader):
    """A file of OCDS packages, releases or records.

    Attributes:
        schema: the identifiers and the text, for other formats, and what an earlier run added.
    """

    def __init__(self, path: Path, text_columns: Sequence[str], *_: object) -> None:
        super().__init__(path)
        self._paths = TEXTS if tuple(text_columns) == TEXT_COLUMNS else text_columns
        self._missing = [] if self._paths is TEXTS else [*self._paths]
        self._names: dict[str, None] = {}  # of the fields of releases with a tender
        self._added: tuple[str, ...] = ()
        first = next(elements(path))
        if first.raw:
            extension = self._read(first)[1].get(OURS, {})
            self._added = tuple(name for name in extension if name not in NAMES)
        self._kinds: dict[str, Kind] = dict.fromkeys((*NAMES, *self._added), "text")
        self.schema = pa.schema([(name, pa.string()) for name in self._kinds])

    def batches(self, limit: int | None = None) -> Iterator[JsonBatch]:
        """Read the file from its beginning; the values of the records are those of the schema.

        See `Reader.batches`.
        """
        for records in in_batches(
            islice(elements(self.path), limit), lambda record: len(record.raw)
        ):
            trailing = None if records[-1].raw else records.pop().before
            rows = [self._row(record) for record in records]
            if trailing is not None and self._names:  # there is a tender that could have a column
                missing, self._missing = self._missing, []  # one warning is enough
                check_absent([*self._names], missing, self._paths, self.path)
            texts = [row["text"] or "" for row in rows]
            records_found = [
                record._replace(value=row) for record, row in zip(records, rows, strict=True)
            ]
            yield JsonBatch(texts, records_found, self._kinds, trailing)

    def _row(self, record: Record) -> dict[str, str | None]:
        """Return the values of a release or record for the columns of other formats."""
        text, release = self._read(record)
        extension = release.get(OURS, {})
        values = [release["ocid"], release.get("id"), text, *map(extension.get, self._added)]
        texts = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
        cells = [None if value is None else encodable([value])[0] for value in texts]
        return dict(zip(self._kinds, cells, strict=True))

    def _read(self, record: Record) -> tuple[str, dict[str, Any]]:
        """Return the text and the release of a release or record."""
        where = f"{self.path}, release {record.number}"
        try:
            element: dict[str, Any] = record.value
            if not isinstance(element.get("ocid"), str):
                raise InputError(f"{where}: it has no ocid.", NO_OCID)
            release: Any = element
            for key in _path_to_release(element):
                release = release[key]
            if not isinstance(release.get(OURS, {}), dict):
                raise ValueError(f"its {OURS} is not an object")
            texts = {path: texts_at(release, path) for path in self._paths}
            joined = _join_once(texts)
            if not joined and self._paths is TEXTS:
                joined = _join_once({path: texts_at(release, path) for path in LATER})
        except ValueError as error:
            raise InputError(
                f"{where}: {error}.",
                f"Fix the release, or name its text: {option('text_columns', 'tender.title')}.",
            ) from error
        self._missing = [path for path in self._missing if texts[path] is None]
        if self._missing and "tender" in release and len(self._names) < NESTED_NAMES:
            self._names |= dict.fromkeys([*release, *nested_names(release)])
        return joined, {**release, "ocid": element["ocid"]}


def _join_once(texts_by_path: dict[str, list[str] | None]) -> str:
    parts = (part for texts in texts_by_path.values() for part in texts or ())
    return encodable([join_texts(dict.fromkeys(parts))])[0]  # lots often repeat the title


def _path_to_release(element: dict[str, Any]) -> tuple[str | int, ...]:
    """Return where the release to classify is: of a record, the compiled or else the last one."""
    if isinstance(element.get("compiledRelease"), dict):
        return ("compiledRelease",)
    index = _last_with_text(element.get("releases"))
    return () if index is None else ("releases", index)


def _last_with_text(releases: Any) -> int | None:
    """Return the place of the last release that has a tender, or else an award or a contract.

    Others are links, for example.
    """
    items = releases if isinstance(releases, list) else []
    numbered = [(at, {*release}) for at, release in enumerate(items) if isinstance(release, dict)]
    tenders = [at for at, members in numbered if "tender" in members]
    later = [at for at, members in numbered if members & {"awards", "contracts"}]
    return next(reversed(tenders or later), None)


TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}\[\]]', re.DOTALL)
"""A string or a bracket."""

Edit = tuple[int, str]
"""A position in a text, and what is inserted there."""


class OcdsWriter(JsonWriter):
    """A file of OCDS packages, releases or records being written; see `JsonWriter`.

    Raises:
        OutputError: the input is no OCDS.
    """

    def __init__(self, path: Path, name: str, reader: Reader, *_: object) -> None:
        if not isinstance(reader, OcdsReader):
            raise OutputError(
                "Only OCDS data can be written as OCDS (.json).",
                f"Write JSON Lines, with a name that ends in .jsonl: {written_as('jsonl')}.",
            )
        super().__init__(path, name, reader)
        self._open = b""  # the brackets that are open

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Write the batch's releases and records with their codes.

        Raises:
            TypeError: the batch is of another format.
        """
        if not isinstance(batch, JsonBatch):
            raise TypeError(f"{type(batch).__name__} is not OCDS")
        names = [column.name for column in columns]
        rows = zip(*(column.values for column in columns), strict=True)
        for record, row in zip(batch.records, rows, strict=True):
            self._copy(record.before)
            self._stream.write(_with_codes(record.raw, dict(zip(names, row, strict=True))))
        self._copy(batch.trailing or b"")

    def close(self, metadata: dict[str, str]) -> None:
        """Finish the file; a sample ends in the middle of a package."""
        closing = self._open[::-1].translate(bytes.maketrans(b"{[", b"}]"))
        self._stream.write(closing)
        super().close(metadata)

    def _copy(self, between: bytes) -> None:
        """Write the bytes between elements, and note which brackets they open and close."""
        for token in TOKEN.finditer(between):
            if token[0] in (b"{", b"["):
                self._open += token[0]
            elif token[0] in (b"}", b"]"):
                self._open = self._open[:-1]
        self._stream.write(between)


def _with_codes(raw: bytes, values: dict[str, Any]) -> bytes:
    """Return a release or record with its codes inserted."""
    text = raw.decode()
    start, end = 0, len(text)
    for key in _path_to_release(DECODER.decode(text)):
        start, end = spans(text, start)[key]
    positions, release = spans(text, start), DECODER.decode(text[start:end])
    edits = [(end - 1, _member(OURS, values, not release))]
    if OURS in release:  # an earlier run added columns with other names
        members = _json(values)[1:-1]
        edits = [(positions[OURS][1] - 1, f", {members}" if release[OURS] else members)]
    if isinstance(release.get("tender"), dict):
        edits += _codes(text, positions["tender"], release["tender"], values)
    for at, inserted in sorted(edits, reverse=True):
        text = text[:at] + inserted + text[at:]
    return text.encode()


def _codes(
    text: str, span: tuple[int, int], tender: dict[str, Any], values: dict[str, Any]
) -> list[Edit]:
    """Return what to insert into a tender: its classification and the additional ones."""
    additional = tender.get("additionalClassifications", [])
    main = tender.get("classification")
    old = additional if isinstance(additional, list) else []
    new = [code for code in _classifications(values) if not _is_among(code, [main, *old])]
    start, end = span
    members = ""
    if "classification" not in tender and new:
        members = _member("classification", new.pop(0), not tender)
    if "additionalClassifications" not in tender and new:
        members += _member("additionalClassifications", new, empty=False)
    edits = [(end - 1, members)]
    if "additionalClassifications" in tender and isinstance(additional, list) and new:
        last = spans(text, start)["additionalClassifications"][1] - 1
        items = ", ".join(map(_json, new))
        edits.append((last, f", {items}" if additional else items))
    return edits


def _classifications(values: dict[str, Any]) -> list[dict[str, str]]:
    """Return the codes that were found, in the order of the systems."""
    codes = []
    for name, code in values.items():
        fits = [candidate for candidate in SYSTEMS if name.endswith(f"{candidate}_code")]
        if fits and code is not None:
            system = max(fits, key=len)  # unspsc_code ends in psc_code
            title = values[f"{name.removesuffix('_code')}_title"]
            codes.append({"scheme": system.upper(), "id": code, "description": title})
    return codes


def _is_among(code: dict[str, str], codes: Sequence[Any]) -> bool:
    """Return whether a tender has a code already: the items of the list must differ."""
    return any(
        isinstance(other, dict)
        and other.get("scheme") == code["scheme"]
        and str(other.get("id")).partition("-")[0] == code["id"]  # CPV may have a check digit
        for other in codes
    )


def _member(name: str, value: Any, empty: bool) -> str:
    return f"{'' if empty else ', '}{_json(name)}: {_json(value)}"


def _json(value: Any) -> str:
    return json_bytes(value).decode()


open_reader, open_writer = OcdsReader, OcdsWriter
