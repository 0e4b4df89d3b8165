"""Reads decisions: those of a review, and the output of a run in which a person changed codes."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from pipeline.answers import System
from pipeline.classification.manifest import (
    MANIFEST,
    CellMarks,
    manifest_path,
    parse_manifest,
    part_of,
)
from pipeline.classification.summary import NOT_FAILED
from pipeline.codes import find_code, load, retirements, spellings
from pipeline.decisions.decision_file import HINT, Decision, DecisionFile, read_decisions
from pipeline.decisions.decisions import Decisions, merged
from pipeline.errors import InputError, SettingsError
from pipeline.files.regular import open_regular, read_text
from pipeline.settings import TEXT_COLUMNS
from pipeline.tables.formats import format_of, has_table_suffix, open_reader
from pipeline.wording import how_many, readable

if TYPE_CHECKING:  # needs the engine, and few decisions are in tables
    from pipeline.classification.enriched import EnrichedTable


log = logging.getLogger("pipeline")

SHOWN = 10
"""Cells that are not understood and are listed."""

SAMPLE = 5_000
"""Cells that show which run wrote a table."""

KEYS = (b'"choice"', b'"systems"')
"""What each line of a review has, and each line of verdicts."""

CODE_COLUMN = re.compile(r"(.*?)(?:cpv|unspsc|psc|naics)_code", re.DOTALL)

CONFIRMED = ("ok", "decided")
"""The statuses by which a person says that a code was checked."""


def decisions_in(
    paths: Any,
    warn: Callable[[str], None],
    text_columns: Sequence[str] = TEXT_COLUMNS,
    kept: System | None = None,
) -> Decisions:
    """Read and merge files of decisions; see `decision_file`.

    ``warn`` is told if the files disagree, or if something in one is not understood.

    Raises:
        SettingsError: these are not paths.
        InputError: a file cannot be read, or nothing in it is understood.
    """
    try:
        several = [paths] if isinstance(paths, str | Path) else list(paths)
        files = {str(path): Path(path) for path in several}
    except TypeError as error:
        raise SettingsError(
            f"decisions is {paths!r}.", "decisions must be the path of a file, or a list of paths."
        ) from error
    decisions = merged([decision_file(path, text_columns, kept) for path in files.values()])
    if decisions.warnings:
        warn("\n".join(decisions.warnings))
    return decisions


def decision_file(
    path: Path, text_columns: Sequence[str] = TEXT_COLUMNS, kept: System | None = None
) -> DecisionFile:
    """Read a file of a review, or a table with codes that a person corrected.

    What was changed in the output of a run follows from the marks in its manifest, whatever the
    order of its rows. In another table, each code counts.

    Args:
        path: the file.
        text_columns: the text columns of a table that is not of a run.
        kept: the system of which unchanged codes count as well, as kept by a person; None for none.

    Raises:
        InputError: the file cannot be read, nothing in it is understood, or it is the output of a
            run whose manifest is not found.
    """
    if not _is_table(path):
        return read_decisions(path)
    try:
        return _open(path, text_columns, kept).read()
    except InputError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            error.hint = "Save it as an Excel workbook, or as CSV in UTF-8."
        raise


def _is_table(path: Path) -> bool:
    """Return whether a file is a table, and not the decisions of a review, whatever its name."""
    try:
        with open_regular(path) as file:
            first = file.readline(1 << 20)
    except OSError:
        return False  # which reading the decisions reports
    has_codes = b'_code"' in first
    if first.startswith(b"{") and not has_codes and any(key in first for key in KEYS):
        return False
    return has_codes if has_table_suffix(path, "jsonl") else has_table_suffix(path)


def _open(path: Path, text_columns: Sequence[str], kept: System | None) -> _Corrections:
    """Open a table, with the marks of the run that wrote it if they are found.

    A person may have saved the table under another name, or elsewhere. So beside the manifest of
    its own name, those in the same folder and in the one of outputs are tried: the run had at least
    half of the texts, and the most cells as they are, and was the first of several such runs.
    """
    from pipeline.classification.enriched import open_enriched

    folders = dict.fromkeys([path.parent, Path("outputs")])
    other_manifests = (each for folder in folders for each in sorted(folder.glob(f"*{MANIFEST}")))
    candidates: list[tuple[int, str, _Corrections]] = []
    for manifest_file in dict.fromkeys([manifest_path(path), *other_manifests]):
        try:
            manifest = parse_manifest(read_text(manifest_file))
            if not (marks := CellMarks(manifest.get("marks"))):
                continue
            files = part_of(manifest, "files") | {"output_format": format_of(path)}
            table = open_enriched(path, manifest=manifest | {"files": files}, needed=("code",))
            corrections = _Corrections(table, marks, str(manifest_file), kept)
            unchanged = corrections.unchanged_cells()
        except (OSError, ValueError, InputError, SettingsError):
            continue
        if unchanged is not None:
            if manifest_file == manifest_path(path):
                return corrections
            candidates.append((-unchanged, str(manifest.get("finished")), corrections))
    if candidates:
        return min(candidates, key=lambda each: each[:2])[2]
    table = open_enriched(path, text_columns, _prefix(path), manifest={}, needed=("code",))
    statuses = {f"{table.prefix}{system}_status" for system in table.systems}
    if made := sorted(statuses.intersection(table.names)):
        raise InputError(
            f"No manifest shows which codes in {path} a person changed.",
            f"Put it beside the manifest of the run, whose name ends in {MANIFEST}. If a person "
            f"checked every code, delete columns such as {made[0]}: then every code counts.",
        )
    return _Corrections(table, CellMarks(), "", kept)


def _prefix(path: Path) -> str:
    """Return the prefix of the code columns of a table.

    Raises:
        InputError: there are none.
    """
    names = open_reader(path, ()).schema.names
    prefixes = [match[1] for name in names if (match := CODE_COLUMN.fullmatch(name))]
    if not prefixes:
        raise InputError(
            f"{path} has neither decisions nor columns of codes, such as cpv_code.",
            HINT,
        )
    return min(prefixes, key=len)


class _Cell(NamedTuple):
    """The cells of one system in a row, as texts without white space around them."""

    system: System
    text: str
    code: str
    confidence: str
    status: str


@dataclass
class _Corrections:
    """The decisions that the rows of a table are."""

    table: EnrichedTable
    marks: CellMarks
    compared: str
    kept: System | None
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    found: dict[tuple[System, str], tuple[int, Decision]] = field(default_factory=dict)
    unchanged: dict[str, Decision] = field(default_factory=dict)

    def unchanged_cells(self) -> int | None:
        """Count them among the first rows; None if the run did not have half of the texts."""
        cells = [cell for _, cell in islice(self._cells(), SAMPLE)]
        seen = [cell for cell in cells if self.marks.has(cell.text)]
        if 2 * len(seen) < len(cells) or not cells:
            return None
        return sum(self._had(cell, cell.status) for cell in seen)

    def read(self) -> DecisionFile:
        """Read the table.

        Raises:
            InputError: no code that a person wrote is understood.
        """
        table, disputed = self.table, set[tuple[System, str]]()
        changed_at = datetime.fromtimestamp(table.path.stat().st_mtime, UTC)
        self._tables = {system: load(system) for system in table.systems}
        self._at = changed_at.isoformat(timespec="milliseconds")
        for row, cell in self._cells():
            made = self._decision(row, cell)
            key = (cell.system, cell.text)
            if made is None:
                continue
            before, first = self.found.setdefault(key, (row, made))
            if first.is_kept and not made.is_kept:  # another row with the text was left as it was
                self.found[key] = row, made
            elif first.code != made.code and first.is_kept == made.is_kept:
                self._note_wrong(row, cell, f"{made.outcome}, but {first.outcome} in row {before}")
                disputed.add(key)
        decisions = [decision for key, (_, decision) in self.found.items() if key not in disputed]
        if self.wrong and not decisions:
            raise InputError(f"No code in {table.path} is understood:{self._list_wrong()}", HINT)
        counts = ", ".join(f"{cells:,} {kind}" for kind, cells in self.counts.items())
        beside = f" (compared with {self.compared})" if self.compared else ""
        log.info("%s: codes: %s%s", table.path, counts or "none", beside)
        taken = {text for system, text in self.found if system == self.kept}
        unchanged = [decision for text, decision in self.unchanged.items() if text not in taken]
        sha256 = table.reader.opened_fingerprint
        notes = tuple(self._notes())
        return DecisionFile(
            table.path, sha256, (*decisions, *unchanged), notes=notes, counts=dict(self.counts)
        )

    def _cells(self) -> Iterator[tuple[int, _Cell]]:
        for batch in self.table.reader.batches():
            columns = batch.to_arrow()
            for system in self.table.systems:
                parts = [self._values(columns, system, part) for part in _Cell._fields[2:]]
                for row, text, *cells in zip(batch.numbers, batch.texts, *parts, strict=True):
                    if text:
                        yield row, _Cell(system, text, *cells)

    def _values(self, columns: pa.RecordBatch, system: System, part: str) -> Sequence[str]:
        name = f"{self.table.prefix}{system}_{part}"
        if name not in self.table.names:
            return [""] * columns.num_rows
        return [*map(_as_text, columns.column(self.table.names.index(name)).to_pylist())]

    def _decision(self, row: int, cell: _Cell) -> Decision | None:
        """Return what a person decided in a row, and count it; None for nothing."""
        kind = self._by_marks(cell) if self.marks.has(cell.text) else self._by_itself(cell)
        if kind == "unchanged":
            if cell.code or cell.status:
                self.counts[kind] += 1
            if self.kept == cell.system and (code := self._read_code(cell)):
                self.unchanged[cell.text] = self._make_decision(cell, code, code)
            return None
        code = self._read_code(cell)
        if code is None:
            self._note_wrong(row, cell, f"not a code of {cell.system}")
            return None
        self.counts[kind if code else "emptied"] += 1
        if kind == "other text":
            return None
        return self._make_decision(cell, code, code if kind != "changed" else "")

    def _by_marks(self, cell: _Cell) -> str:
        """Return what was done to cells beside a text that the run had."""
        if self._had(cell, cell.status):
            return "confirmed" if cell.status == "decided" else "unchanged"
        if self._had(cell, "decided"):  # the run has used this table
            return "changed"
        if any(self._had(cell, status) for status in (*NOT_FAILED, "failed")):
            return "confirmed" if cell.status in CONFIRMED else "unchanged"
        return "changed"

    def _had(self, cell: _Cell, status: str) -> bool:
        """Return whether the run wrote this code with a status."""
        written = (cell.code, *spellings(cell.system, cell.code))
        return any(self.marks.has(cell.text, cell.system, code, status) for code in written)

    def _by_itself(self, cell: _Cell) -> str:
        """Return what was done to cells beside a text that no run had."""
        if not cell.code:
            return "unchanged"
        if not self.marks:
            return "given"
        return "other text" if cell.confidence else "changed"

    def _read_code(self, cell: _Cell) -> str | None:
        """Return the code that a person means, "" for none; None if there is no such code.

        The shipped UNSPSC table has the common codes only, and models learn retired ones.
        """
        if not cell.code:
            return ""
        system, codes = cell.system, self._tables[cell.system]
        meant = spellings(system, cell.code)
        replacements = (code for code in meant if system == "unspsc" or code in retirements(system))
        return find_code(codes, cell.code) or next(replacements, None)

    def _make_decision(self, cell: _Cell, code: str, best: str) -> Decision:
        return Decision(
            system=cell.system,
            text=cell.text,
            choice="code" if code else "none",
            by=self.table.path.name,
            at=self._at,
            code=code,
            title=self._tables[cell.system].titles.get(code, ""),
            model=self.table.model,
            best=best,
        )

    def _note_wrong(self, row: int, cell: _Cell, what: str) -> None:
        column = f"{self.table.prefix}{cell.system}_code"
        self.wrong.append(f"\n  row {row}, {column} {readable(cell.code)!r}: {what}")

    def _list_wrong(self) -> str:
        unlisted = len(self.wrong) - SHOWN
        return "".join(self.wrong[:SHOWN]) + (f"\n  and {unlisted:,} more" if unlisted > 0 else "")

    def _notes(self) -> Iterator[str]:
        path, unseen = self.table.path, self.counts["other text"]
        if self.wrong:
            what = how_many(len(self.wrong), "code")
            yield f"{path}: {what} not understood, and not used:{self._list_wrong()}"
        if unseen:
            yield (
                f"{path}: the run did not see the texts of {how_many(unseen, 'code')}, which are "
                "not used. Keep the texts as they are, and a CSV file in UTF-8."
            )
        if self.unchanged:
            yield (
                f"{path}: {how_many(len(self.unchanged), 'code')} that nobody changed count as "
                "kept. Delete the rows that nobody looked at."
            )


def _as_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()
