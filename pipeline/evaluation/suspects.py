"""Finds the rows of a labelled table whose code is most likely wrong, and writes them to a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.answers import LIKELY, Answer, Explained, Match, Matched
from pipeline.classification.file_sink import FileSink
from pipeline.classification.provenance import TOOL
from pipeline.codes import CodeTable, normalized
from pipeline.errors import OutputError
from pipeline.evaluation.dataset import LabelledBatch
from pipeline.evaluation.findings import Findings
from pipeline.evaluation.metrics import STATED
from pipeline.evaluation.settings import OWN_COLUMNS
from pipeline.tables import ArrowReader, NewColumn, output_format_of
from pipeline.wording import AS_CSV, marked, option

NUMBERS = ("stated_confidence", "confidence")
FIELDS = [
    pa.field(name, pa.float64() if name in NUMBERS else pa.string()) for name in OWN_COLUMNS[1:]
]


MAX_TEXT = 1_000
"""Characters of a text that the list has; the row number leads to the rest."""

RECORDED = ("system", "edition", "table", "table_sha256", "sample", "seed", "rows", "suspects")
"""What the manifest says of the evaluation."""


@dataclass(slots=True)
class Suspects:
    """Collects the rows whose best code contradicts the stated one.

    A row is listed if the confidence of its best code is at least `LIKELY`, and neither code
    contains the other: a division does not contradict a code in it. Rows are ordered by how much
    more confident the subject is of its code than of the stated one, which is the margin of
    confident learning (C. G. Northcutt et al., Journal of Artificial Intelligence Research 70,
    2021).
    """

    codes: CodeTable
    found: list[pa.RecordBatch] = field(default_factory=list)

    def add(self, answers: Sequence[Answer | None], batch: LabelledBatch) -> None:
        """Add the suspicious ones of some rows."""
        rows, places = [], []
        for place, (answer, code) in enumerate(zip(answers, batch.codes, strict=True)):
            row = self._row(answer, code) if isinstance(answer, Matched) else None
            if row is not None:
                rows.append({"text": batch.texts[place][:MAX_TEXT], **row})
                places.append(place)
        if rows:
            kept = batch.at(places).identifiers
            new = pa.RecordBatch.from_pylist(rows, pa.schema(FIELDS))
            schema = pa.schema([*kept.schema, *FIELDS])
            self.found.append(
                pa.RecordBatch.from_arrays([*kept.columns, *new.columns], schema=schema)
            )

    def table(self, references: pa.Schema) -> pa.Table:
        """Return the suspicious rows, the most suspicious first.

        The reference columns follow the row number.
        """
        schema = pa.schema([pa.field("row", pa.int64()), *references, *FIELDS])
        table = pa.Table.from_batches(self.found, schema)
        # By position: a reference column may have the same name.
        own = dict(zip((each.name for each in FIELDS), table.columns[-len(FIELDS) :], strict=True))
        likelier = own["confidence"].to_pylist()
        stated = own["stated_confidence"].to_pylist()
        margins = [more - less for more, less in zip(likelier, stated, strict=True)]
        order = sorted(range(len(margins)), key=lambda place: -margins[place])
        return table.take(pa.array(order, pa.int64()))

    def _row(self, answer: Matched, stated: str) -> dict[str, Any] | None:
        """Return what is written of a row; None if its code is not suspicious."""
        system = self.codes.system
        if not answer.matches or answer.matches[0].confidence < LIKELY:
            return None
        best = answer.matches[0]
        likelier = self._code(best)
        if STATED.rank(system, stated, [likelier]) or STATED.rank(system, likelier, [stated]):
            return None
        agreeing = [
            match.confidence
            for match in answer.matches
            if STATED.rank(system, stated, [self._code(match)])
        ]
        return {
            "stated_code": stated,
            "stated_title": self.codes.titles.get(stated, ""),
            "stated_confidence": round(sum(agreeing), 4),
            "likelier_code": likelier,
            "likelier_title": self.codes.titles.get(likelier, best.title),
            "confidence": best.confidence,
            "words": answer.why if isinstance(answer, Explained) else "",
        }

    def _code(self, match: Match) -> str:
        return normalized(self.codes.system, match.code) or match.code


def check_suspects(path: Path, source: Path, overwrite: bool) -> None:
    """Find out before the work whether the file may be written.

    Raises:
        OutputError: its place is unusable, or holds a file that this tool did not write.
    """
    with _option_named():
        _target(path, source, overwrite).check()


def write_suspects(path: Path, source: Path, overwrite: bool, found: Findings) -> None:
    """Write the suspicious rows, with a manifest beside the file.

    The source, which is the labelled table, is never replaced.

    Raises:
        OutputError: the file cannot be written.
    """
    table = found.suspects
    if table is None:
        return
    own = table.num_columns - len(FIELDS)
    reader = ArrowReader(table.select(range(own)), ())
    about = {name: value for name, value in found.to_dict().items() if name in RECORDED}
    with _option_named(), _target(path, source, overwrite).draft(reader, FIELDS) as draft:
        start = 0
        for batch in reader.batches():
            rows = table.slice(start, len(batch.texts))
            columns = zip(FIELDS, rows.columns[own:], strict=True)
            draft.writer.write(
                batch, [NewColumn(each.name, each.type, it.to_pylist()) for each, it in columns]
            )
            start += len(batch.texts)
        draft.writer.close({})
        draft.commit({"tool": TOOL, **about})


def _target(path: Path, source: Path, overwrite: bool) -> FileSink:
    return FileSink(path, output_format_of(path), overwrite, source)


@contextmanager
def _option_named() -> Iterator[None]:
    """Name the option of this file in the errors of an output."""
    try:
        yield
    except OutputError as error:
        hint = marked(error.hint).replace(option("output", "PATH"), option("suspects", "FILE"))
        hint = hint.replace(f", or {AS_CSV}", "")
        raise OutputError(marked(error.message), hint) from error
