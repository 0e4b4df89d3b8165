"""Reads OCDS releases and records, keeping their bytes and those of their packages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.settings import TEXT_COLUMNS
from pipeline.tables.json_reader import with_rows_within
from pipeline.tables.json_records import (
    NESTED_NAMES,
    item_spans,
    member_spans,
    nested_names,
    parsed,
    texts_at,
)
from pipeline.tables.ocds_scan import elements
from pipeline.tables.streams import FileReader, not_utf_8
from pipeline.tables.table import BATCH_CHARS, BATCH_ROWS
from pipeline.tables.texts import check_absent, encodable, join_texts

__all__ = ["OURS", "OcdsBatch", "OcdsReader", "release_span"]

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
                "Fix the release, or name its text: --text-column tender.title.",
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
