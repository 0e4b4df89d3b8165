"""What an output goes to: the protocol of files, objects and tables in memory, and their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from pipeline.classification.manifest import PathType, manifest_path
from pipeline.files.paths import AnyPath
from pipeline.settings import Format
from pipeline.tables.arrow import ArrowWriter
from pipeline.tables.formats import TABLE_FORMATS, checked, split_suffixes
from pipeline.tables.table import Batch, Reader, Writer

Manifest = Mapping[str, Any]


def default_output(
    source: Path, input_format: Format, output_format: Format, limit_rows: int | None
) -> Path:
    """Return the default path of an output.

    It is ``outputs/<stem>.classified.<suffix>``, or ``outputs/<stem>.classified.sample-N.<suffix>``
    for a sample of N rows.
    """
    stem, suffix, compression = split_suffixes(source)
    if input_format != output_format or not suffix:
        suffix, compression = TABLE_FORMATS[output_format].suffixes[0], ""
    sample = "" if limit_rows is None else f".sample-{limit_rows}"
    return Path("outputs") / f"{stem}.classified{sample}{suffix}{compression}"


def partial_path(path: PathType) -> PathType:
    """Return the path of the incomplete table beside an output."""
    stem, suffix, compression = split_suffixes(path)
    return path.with_name(f"{stem}.partial{suffix}{compression}")


def files_of(output: AnyPath, name: str) -> dict[str, AnyPath]:
    """Return what a job may write for an output, by what names it: an option or an argument."""
    there = cast("Path", output)  # or the address of an object
    return {
        name: output,
        f"the manifest of {name}": manifest_path(there),
        f"the incomplete table of {name}": partial_path(there),
    }


@dataclass(frozen=True, slots=True)
class Draft:
    """An output that is being written and has not been committed.

    Attributes:
        writer: writes the rows.
        commit: puts the output in place, with its manifest; the writer must be closed.
    """

    writer: Writer
    commit: Callable[[Manifest], None]


class Sink:
    """What an output goes to.

    Attributes:
        path: the file or the object; None for an output in memory.
        output_format: the format of the file or the object.
        keeps_partial: whether to write the incomplete table when the job parks.
    """

    path: AnyPath | None
    output_format: Format
    keeps_partial: bool

    @property
    def partial(self) -> Sink:
        """The sink for the incomplete table when the job parks; this one if it replaces nothing."""
        return self

    def manifests(self) -> list[tuple[AnyPath, Manifest]]:
        """Return what a job would replace, the incomplete output and the output: their manifests.

        If both name a ledger, the incomplete one is the table that is there.
        """
        return []

    def check(self) -> None:
        """Refuse, before work begins, an output that would fail or do harm at the end.

        Raises:
            OutputError: the path is unusable, or a file is there that this tool did not write.
        """

    def checked(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield batches, and refuse what the output cannot hold, before any money is spent.

        Raises:
            InputError: it cannot hold a value.
            OutputError: there are too many rows for its format, or a text is too long.
        """
        return checked(batches, self.output_format)

    def draft(
        self, reader: Reader, new_fields: Sequence[pa.Field]
    ) -> AbstractContextManager[Draft]:
        """Open an output; unless it is committed, nothing of it remains."""
        raise NotImplementedError

    def note(self, parked: Manifest) -> None:
        """Add to the manifest what is bought for the output, if a run ends before it is written.

        Raises:
            OutputError: the manifest cannot be written, or is beside what this tool did not write.
        """

    def discard(self) -> None:
        """Remove an outdated output, if this tool wrote it and nobody has changed it."""


@dataclass
class MemorySink(Sink):
    """An output that stays in memory.

    Attributes:
        table: the enriched table, once committed.
        keeps_partial: see `Sink`.
    """

    table: pa.Table = field(init=False)
    keeps_partial: bool = False
    path: None = field(default=None, init=False)

    def checked(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """See `Sink.checked`."""
        for batch in batches:
            batch.to_arrow()  # which a value in JSON may prevent
            yield batch

    @contextmanager
    def draft(self, reader: Reader, new_fields: Sequence[pa.Field]) -> Iterator[Draft]:
        """Open a table in memory."""
        writer = ArrowWriter(reader.schema, new_fields)

        def commit(_: Manifest) -> None:
            self.table = writer.table

        yield Draft(writer, commit)
