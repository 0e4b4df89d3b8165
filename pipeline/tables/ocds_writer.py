"""Writes OCDS: the input's bytes, with codes in the tender of each release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.answers import SYSTEMS
from pipeline.tables.json_reader import TOKEN
from pipeline.tables.json_records import member_spans, parsed
from pipeline.tables.json_writer import JsonWriter, json_bytes
from pipeline.tables.ocds_reader import OURS, OcdsBatch, release_span
from pipeline.tables.table import Batch, NewColumn

__all__ = ["OcdsWriter"]

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
