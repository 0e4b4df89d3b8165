"""The record beside an output: its input, settings, figures and cost, and marks of its cells."""

from __future__ import annotations

import json
from array import array
from base64 import b64decode, b64encode
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from zlib import compress, crc32, decompress
from zlib import error as zlib_error

import numpy as np

from pipeline.answers import System
from pipeline.classification.columns import STATUS
from pipeline.classification.source import Source
from pipeline.classification.summary import NOT_FAILED, Plan, Summary
from pipeline.errors import OutputError
from pipeline.files.paths import AnyPath, CloudPath
from pipeline.files.regular import read_text
from pipeline.settings import Files, Settings
from pipeline.tables.streams import sha256_of
from pipeline.tables.table import NewColumn
from pipeline.versions import VERSIONS
from pipeline.wording import OUTPUT, OVERWRITE, beside

TOOL = "tender-pipeline"
"""The name of the tool in its manifests."""

MANIFEST = ".manifest.json"
"""What a manifest's name has after the name of its output."""

DECISIONS = ".decisions.jsonl"
"""The same of the file in which a review keeps its decisions, unless it is told another."""

BESIDE_OUTPUTS = (MANIFEST, DECISIONS)
"""Files that are no tables, although their names may end like one's."""

STARTED = {"tool": TOOL, "exit_state": "started"}
"""The manifest of an output that is not written yet."""

OCDS_TEXT = "text"
"""The column with the texts of releases in other formats than OCDS."""

MOST_ROWS = 1_048_576
"""The rows of a table with marks: as many as a sheet has. Others are not corrected by hand."""

PathType = TypeVar("PathType", Path, CloudPath)


@dataclass(frozen=True, slots=True)
class ExistingFile:
    """A file where an output goes, with its manifest."""

    path: Path

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest; empty if this tool wrote none."""
        return read_manifest(self.path)

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of the file; None if there is none."""
        try:
            return sha256_of(self.path)
        except OSError:
            return None


def manifest_path(output: PathType) -> PathType:
    """Return the path of an output's manifest."""
    return output.with_name(f"{output.name}{MANIFEST}")


def written_by_us(output: Path) -> bool:
    """Return whether this tool wrote a file, and the file has not changed since."""
    return sha256_of(output) in part_of(read_manifest(output), "output").values()


def is_full_table(manifest: Mapping[str, Any]) -> bool:
    """Return whether a manifest is of an output without ``--limit-rows``."""
    settings = manifest.get("settings")
    return isinstance(settings, dict) and settings.get("limit_rows") is None


def other_input(output: AnyPath | None, source: AnyPath) -> str | None:
    """Return the input that an output file was made from, if it is another one than ``given``."""
    if not isinstance(output, Path):
        return None
    path = part_of(read_manifest(output), "input").get("path")
    if not isinstance(path, str) or path == str(source):
        return None
    return None if isinstance(source, Path) and Path(path).resolve() == source.resolve() else path


def check_replaceable(path: AnyPath, is_ours: bool, full_by_sample: bool) -> None:
    """Refuse to replace an output that is not ours, or a full table by a sample.

    Raises:
        OutputError: it must not be replaced without ``--overwrite``.
    """
    hint = f"Replace it anyway with {OVERWRITE}, or write elsewhere: {OUTPUT}."
    if not is_ours:
        raise OutputError(
            f"{path} exists, and its manifest does not prove that this tool wrote it "
            "and that it has not changed since.",
            hint,
        )
    if full_by_sample:
        raise OutputError(
            f"{path} holds a full table, and this run writes a sample{beside('limit_rows')}.", hint
        )


def foreign_manifest(path: AnyPath) -> OutputError:
    """Return the error about a file of the user's where the manifest of an output goes."""
    return OutputError(
        f"{path}{MANIFEST} exists, and this tool did not write it.",
        f"Move it, replace it with {OVERWRITE}, or write elsewhere: {OUTPUT}.",
    )


def texts_of_output(
    text_columns: Sequence[str], input_format: str | None, output_format: str | None
) -> Sequence[str]:
    """Return the columns of an output that hold the texts of the text columns of its input."""
    is_table_of_releases = input_format == "ocds" != output_format
    return (OCDS_TEXT,) if is_table_of_releases else text_columns


def read_manifest(output: Path) -> dict[str, Any]:
    """Return the manifest of an output; empty if this tool wrote none."""
    try:
        return parse_manifest(read_text(manifest_path(output)))
    except (OSError, ValueError):
        return {}


def parse_manifest(text: str | bytes) -> dict[str, Any]:
    """Return a manifest from its text; empty if it is not one of this tool."""
    try:
        manifest = json.loads(text)
        return manifest if manifest["tool"] == TOOL else {}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def part_of(manifest: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return an object in a manifest, which anybody may have changed; empty if there is none."""
    value = manifest.get(name)
    return value if isinstance(value, dict) else {}


def with_note(manifest: Mapping[str, Any], note: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a manifest with a note of a run that has written no output; earlier notes stay."""
    notes = {name: {**part_of(manifest, name), **part} for name, part in note.items()}
    return {**STARTED, **manifest, **notes}


class CellMarks:
    """Marks of the cells that a run wrote, by which a corrected copy shows what was changed.

    They are the CRC-32 of each text, and of each text with a system, its code and its status. All
    failed calls count as one status.
    """

    def __init__(self, written: object = None) -> None:
        """Open the marks of a manifest, in which anybody may have written something else."""
        self._marks = array("I")
        self._rows = 0
        try:
            planes = np.frombuffer(decompress(b64decode(str(written or ""))), np.uint8)
            steps = np.ascontiguousarray(planes.reshape(4, -1).T).view("<u4").ravel()
            self._marks.frombytes(np.cumsum(steps, dtype=np.uint32).tobytes())
        except (ValueError, OSError, zlib_error):
            return

    def __bool__(self) -> bool:
        return bool(self._marks)

    def add(
        self, systems: Sequence[System], texts: Sequence[str], columns: Sequence[NewColumn]
    ) -> None:
        """Add the cells of a batch."""
        self._rows += len(texts)
        if self._rows > MOST_ROWS:
            self._marks = array("I")
            return
        of_texts = [crc32(text.encode()) for text in texts]
        self._marks.extend(of_texts)
        width = (len(columns) - 1) // len(systems)
        for index, system in enumerate(systems):
            codes, statuses = columns[index * width], columns[index * width + STATUS]
            cells = [*zip(codes.values, statuses.values, strict=True)]
            written = {cell: _cell(system, cell[0] or "", cell[1]) for cell in {*cells}}
            rows = zip(of_texts, cells, strict=True)
            self._marks.extend(crc32(written[cell], text) for text, cell in rows)

    def has(self, text: str, *cell: str) -> bool:
        """Return whether the run wrote a text, or beside it a cell: a system, a code, a status."""
        mark = crc32(text.encode())
        if cell:
            mark = crc32(_cell(*cell), mark)
        index = bisect_left(self._marks, mark)
        return index < len(self._marks) and self._marks[index] == mark

    def __str__(self) -> str:
        """Return them for a manifest: the steps between them in order, by byte, compressed."""
        marks = np.sort(np.frombuffer(self._marks, np.uint32))
        steps = np.diff(marks, prepend=marks.dtype.type(0))
        steps = steps[steps > 0].astype("<u4")
        return b64encode(compress(steps.view(np.uint8).reshape(-1, 4).T.tobytes(), 1)).decode()


def _cell(system: str, code: str, status: str) -> bytes:
    kind = status if status in NOT_FAILED else "failed"
    return f"\0{system}\0{code}\0{kind}".encode()


def manifest(
    source: Source,
    settings: Settings,
    plan: Plan,
    summary: Summary,
    base_url: str | None = None,
    ledger: Mapping[str, Any] | None = None,
    marks: CellMarks | None = None,
) -> dict[str, Any]:
    """Return the record of a job as JSON types, without secrets or texts from the table.

    It has the address of the service, and that by which a later run recognises its ledger.
    """
    version = {} if source.version is None else {"version": source.version}
    return {
        "tool": TOOL,
        "input": {
            "path": None if source.path is None else str(source.path),
            "sha256": source.reader.opened_fingerprint,
            **version,
        },
        "settings": asdict(settings),
        "service": base_url,
        "ledger": ledger,
        "files": None if source.files is None else asdict(source.files),
        "plan": plan.row_counts,
        "marks": str(marks) if marks else None,
        "summary": summary.to_dict(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": VERSIONS,
        "exit_state": _exit_state(summary),
    }


def was_done(
    found: Mapping[str, Any],
    fingerprint: str,
    settings: Settings,
    files: Files,
    base_url: str | None,
) -> bool:
    """Tell from the manifest of an output whether the same job has written it.

    It is the same job if the input's bytes, the settings, the formats, the service and the version
    of this tool are the same, and if the output is complete. The number of processes and the report
    change nothing in an output.
    """
    identity = _identity(fingerprint, asdict(settings), asdict(files), base_url, VERSIONS[TOOL])
    try:
        done = _identity(
            found["input"]["sha256"],
            found["settings"],
            found["files"],
            found["service"],
            found["versions"][TOOL],
        )
        complete = bool(found["exit_state"].startswith("complete"))
    except (KeyError, TypeError, AttributeError):
        return False
    return complete and done == json.loads(json.dumps(identity))


def _identity(
    fingerprint: Any, settings: Mapping[str, Any], files: Mapping[str, Any], *others: Any
) -> list[Any]:
    any_files = {**files, "overwrite": None, "report": None}
    return [fingerprint, {**settings, "jobs": None}, any_files, *others]


def _exit_state(summary: Summary) -> str:
    if summary.parked:
        return "parked"
    return "complete with failed rows" if summary.failed else "complete"
