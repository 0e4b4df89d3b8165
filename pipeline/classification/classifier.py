"""One object that classifies Arrow tables in any engine and can be sent to its workers."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain
from os import PathLike
from typing import Any, TypeVar

import pyarrow as pa

from pipeline.answers import SYSTEMS
from pipeline.arguments import public, public_class, shortened
from pipeline.classification.columns import check_free, new_columns, new_fields
from pipeline.classification.source import read_stream
from pipeline.classification.write import classify_batches
from pipeline.codes import added_digest
from pipeline.engine import Engine
from pipeline.engine.model import open_models, shipped_model
from pipeline.errors import EngineError, InputError, PipelineError
from pipeline.settings import TEXT_COLUMNS, Settings
from pipeline.tables.arrow import ArrowBatch, appended, find_text_columns, with_columns, with_texts
from pipeline.tables.table import BATCH_ROWS
from pipeline.tables.texts import TextColumn
from pipeline.versions import VERSIONS
from pipeline.wording import listed

Data = TypeVar("Data", pa.RecordBatch, pa.Table)

MAY_BE = "data must be a pyarrow Table or RecordBatch, or an object with Arrow's C stream."


@public_class
class Classifier:
    """Adds code columns to Arrow tables with the embedded engine.

    Use it where an engine such as Spark, Ray or DuckDB calls a function for each batch of rows.
    A row gets the same values in a batch of any size, and the same as from `pipeline.classify`.

    A pickled classifier holds only its settings, the paths of models and checksums, so it is small.
    Each process loads the models once, memory-mapped, when it classifies its first batch. A process
    with another version of the package, other models or other code tables refuses to classify.
    It buys nothing, because a paid service must have one buyer. On Spark, `pipeline.spark.classify`
    buys in the driver; elsewhere, buy first: ``pipeline.classify(table, service=...)``.

    Args:
        systems: any of ``cpv``, ``psc``, ``unspsc``, ``naics``.
        text_columns: the column with the text, or several, joined by ". "; else ``description``.
        top: how many matches a row gets, 1 to 10; more than one adds ``<system>_matches``.
        min_confidence: mark a best match under this ``review``; see `pipeline.classify`.
        roll_up: replace a best match under this by the deepest code above it that reaches it.
        models: folders of learned models, at the same path on every machine.
        explain: add ``<system>_why``: the words that decided the best match.
        column_prefix: a prefix for the name of every new column.
        language: the language of the CPV titles; see `pipeline.classify`.

    Raises:
        SettingsError: an argument is wrong.

    Attributes:
        settings: the checked settings.
        models: for each system, the learned model that replaces the package's.
    """

    def __init__(
        self,
        *,
        systems: str | Sequence[str] = SYSTEMS,
        text_columns: str | Sequence[str] = TEXT_COLUMNS,
        top: int = 1,
        min_confidence: float | None = None,
        roll_up: float | None = None,
        models: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
        explain: bool = False,
        column_prefix: str = "",
        language: str = "en",
    ) -> None:
        given: dict[str, Any] = {**locals()}
        del given["self"], given["models"]
        settings = Settings(**given)
        self.models, checksums = open_models(models, settings.systems)
        self.settings = replace(settings, models=checksums)
        self._made_with = _made_with(self.settings)

    def __repr__(self) -> str:
        usual = {**asdict(Settings()), "systems": ()}  # which are always shown
        changed = (
            option for option in asdict(self.settings).items() if option[1] != usual[option[0]]
        )
        return f"Classifier({', '.join(f'{name}={value!r}' for name, value in changed)})"

    @public
    def output_schema(self, input_schema: pa.Schema) -> pa.Schema:
        """Return the schema of a classified table: the input's columns, then the new ones.

        Raises:
            SettingsError: the table already has columns with the names of the new ones.
            InputError: it lacks a text column, or one of them does not hold text.
        """
        text_columns_of(input_schema, self.settings)
        return with_columns(input_schema, new_fields(self.settings))

    @public
    def __call__(self, data: Data) -> Data:
        """Return the rows of a table or batch, in their order, with the new columns.

        Args:
            data: a pyarrow RecordBatch or Table, which comes back as the same type, or any object
                with Arrow's C stream, such as a Polars frame, which comes back as a Table.

        Raises:
            SettingsError: the table already has columns with the names of the new ones.
            InputError: the table cannot be read, or lacks a text column.
            EngineError: this machine has other models, code tables or another version of the
                package than the one where the classifier was made.
        """
        table = _table(data)
        schema = self.output_schema(table.schema)
        classified = pa.Table.from_batches(self.map(table.to_batches()), schema)
        if not isinstance(data, pa.RecordBatch):
            return classified
        new: list[pa.ChunkedArray] = classified.columns[table.num_columns :]
        arrays = [*data.columns, *(column.combine_chunks() for column in new)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def map(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Classify a stream of batches with one schema, holding only a few rows in memory.

        The batches that come out have at most 1,024 rows, whatever came in.

        Args:
            batches: such as the iterator that Spark's ``mapInArrow`` passes to its function.

        Raises:
            SettingsError, InputError, EngineError: see `__call__`.
        """
        try:
            self._check_machine()
            pieces = text_batches(batches, self.settings)
            matcher = Engine.of(self.settings, self.models)
            for piece, answers in classify_batches(pieces, matcher, self.settings):
                schema = with_columns(piece.batch.schema, new_fields(self.settings))
                yield appended(piece, new_columns(self.settings, answers), schema)
        except PipelineError as error:
            raise shortened(error) from None

    def _check_machine(self) -> None:
        """Refuse a machine where the same text could get another code."""
        for model in self.models.values():
            if not model.path.is_dir():
                raise EngineError(
                    f"{platform.node()} has no model {model.path}.",
                    "Copy the folder to the same path on every machine, or to a shared one.",
                )
        here = _made_with(self.settings)
        for name, made_with in self._made_with.items():
            if here[name] != made_with:
                raise EngineError(
                    f"The {name} of {platform.node()} is {here[name]}, but the classifier was "
                    f"made with {made_with}.",
                    "Install the same package and code tables on every machine, then make the "
                    "classifier again.",
                )


def text_columns_of(schema: pa.Schema, settings: Settings) -> list[TextColumn]:
    """Return the text columns of a table that can be classified.

    Raises:
        SettingsError: the table already has columns with the names of the new ones.
        InputError: it lacks a text column, or one of them does not hold text.
    """
    check_free(schema.names, settings)
    return find_text_columns(schema, settings.text_columns, "The table")


def text_batches(batches: Iterable[pa.RecordBatch], settings: Settings) -> Iterator[ArrowBatch]:
    """Cut a stream of batches with one schema into small ones, with the text of each row.

    Raises:
        SettingsError, InputError: see `text_columns_of`; or a batch has other columns than the
            first, or a value that is not text.
    """
    left = _same_columns(batches)
    for first in left:
        pieces = (
            batch.slice(start, BATCH_ROWS)
            for batch in chain([first], left)
            for start in range(0, batch.num_rows, BATCH_ROWS)
        )
        yield from with_texts(pieces, text_columns_of(first.schema, settings))


def _same_columns(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches, which must have the columns of the first: texts are read by position."""
    names = None
    for batch in batches:
        if not isinstance(batch, pa.RecordBatch):
            raise InputError(
                f"batches holds a {type(batch).__name__}, not a pyarrow RecordBatch.",
                "Give the batches of a table: table.to_batches().",
            )
        names = names or batch.schema.names
        if batch.schema.names != names:
            raise InputError(
                f"A batch has the columns {listed(batch.schema.names)}, and the first has "
                f"{listed(names)}.",
                "Give all batches the same columns, in the same order.",
            )
        yield batch


def _made_with(settings: Settings) -> dict[str, str]:
    """Return what the answers depend on beside the settings: versions and checksums."""
    made_with = {
        "version of tender-pipeline": VERSIONS["tender-pipeline"],
        "checksum of the package's models": shipped_model().sha256,
    }
    tables = {f"{system} code table": added_digest(system) for system in settings.systems}
    return made_with | {name: digest or "the package's" for name, digest in tables.items()}


def _table(data: Any) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    return read_stream(data, MAY_BE)
