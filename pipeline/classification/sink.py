"""What an output goes to: the protocol of files, objects and tables in memory, and their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from pipeline.classification.provenance import PathType
from pipeline.file_options import Format
from pipeline.files.paths import AnyPath
from pipeline.tables import Reader, Writer, split_suffixes

__all__ = ["Draft", "Manifest", "Sink", "default_output", "partial_path"]

Manifest = Mapping[str, Any]


def default_output(
    source: Path, input_format: Format, output_format: Format, limit_rows: int | None
) -> Path:
    """Return the default path of an output.

    It is ``outputs/<stem>.classified.<format>``, or ``outputs/<stem>.classified.sample-N.<format>``
    for a sample of N rows.
    """
    stem, suffix, compression = split_suffixes(source)
    if input_format != output_format or not suffix:
        suffix, compression = ".json" if output_format == "ocds" else f".{output_format}", ""
    sample = "" if limit_rows is None else f".sample-{limit_rows}"
    return Path("outputs") / f"{stem}.classified{sample}{suffix}{compression}"


def partial_path(path: PathType) -> PathType:
    """Return the path of the incomplete table beside an output."""
    stem, suffix, compression = split_suffixes(path)
    return path.with_name(f"{stem}.partial{suffix}{compression}")


class Draft(Protocol):
    """An output that is being written and has not been committed."""

    @property
    def writer(self) -> Writer:
        """Writes the rows."""
        ...

    def commit(self, manifest: Manifest) -> None:
        """Put the output in place; the writer must be closed."""
        ...


class Sink(Protocol):
    """A place for an output."""

    @property
    def path(self) -> AnyPath | None:
        """The file or the object, or None for an output in memory."""
        ...

    @property
    def output_format(self) -> Format:
        """The format of the table, which cannot hold every row."""
        ...

    @property
    def partial(self) -> Sink:
        """The sink for the incomplete table when the job parks."""
        ...

    @property
    def keeps_partial(self) -> bool:
        """Whether to write the incomplete table when the job parks."""
        ...

    def check(self) -> None:
        """Refuse, before work begins, an output that would fail or do harm at the end.

        Raises:
            OutputError: the path is unusable, or a file is there that this tool did not write.
        """
        ...

    def draft(
        self, reader: Reader, new_fields: Sequence[pa.Field]
    ) -> AbstractContextManager[Draft]:
        """Open an output; unless it is committed, nothing of it remains."""
        ...

    def note(self, parked: Manifest) -> None:
        """Add to the manifest what is bought for the output, if a run ends before it is written.

        Raises:
            OutputError: the manifest cannot be written, or is beside what this tool did not write.
        """
        ...

    def discard(self) -> None:
        """Remove an outdated output, if this tool wrote it and nobody has changed it."""
        ...
