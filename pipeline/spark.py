"""Classifies Spark DataFrames: free of charge on the executors, paid in the driver.

import pipeline.spark

coded = pipeline.spark.classify(frame, systems=["cpv"])
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from inspect import signature
from itertools import repeat
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from pipeline import api
from pipeline.answers import SYSTEMS
from pipeline.arguments import public
from pipeline.classification.classifier import Classifier, text_batches, text_columns_of
from pipeline.classification.columns import check_free, new_fields
from pipeline.errors import InputError, SettingsError
from pipeline.paid.service import PaidService
from pipeline.settings import TEXT_COLUMNS, Settings
from pipeline.tables.table import BATCH_ROWS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["classify"]

KEY, TEXT, BOUGHT = "key", "text", "bought"
"""Columns of the tables between the stages of a purchase; the frame's are c0, c1, ..."""

Batches: TypeAlias = Iterator[pa.RecordBatch]

NOT_INSTALLED = (
    "The Python of this Spark worker, {}, cannot import tender-pipeline ({}). Before the session "
    "begins, set PYSPARK_PYTHON to a Python that has it, on one machine to that of the driver: "
    'os.environ["PYSPARK_PYTHON"] = sys.executable.'
)

WITHOUT_TEXT = "empty"
SPREAD = 1000
"""How many keys rows without text share, so that no single task has to sort all of them."""


@public
def classify(
    frame: DataFrame,
    *,
    systems: str | Sequence[str] = SYSTEMS,
    text_columns: str | Sequence[str] = TEXT_COLUMNS,
    top: int = 1,
    min_confidence: float | None = None,
    roll_up: float | None = None,
    models: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    explain: bool = False,
    column_prefix: str = "",
    service: PaidService | None = None,
    partial: bool = False,
    language: str = "en",
) -> DataFrame:
    """Return a Spark DataFrame with procurement codes for every row.

    With the embedded engine, nothing runs until the result is used, as with any transformation.
    Every executor needs the package, and the models that ``models`` names.

    With a service, the call buys before it returns. It collects the distinct texts in the driver,
    where a single ledger and throttle serve all of them, buys the missing answers and joins them
    to the rows. One row of each text carries its cost. If the frame is not the same when it is read
    again, cache it first: a row whose text was not bought has the status ``pending``.

    Args:
        frame: a DataFrame of PySpark 3.5 or 4, classic or of Spark Connect.
        systems: any of ``cpv``, ``psc``, ``unspsc``, ``naics``.
        text_columns: the column with the text, or several, joined by ". "; else ``description``.
        top: how many matches a row gets; see `pipeline.classify`, also for what follows.
        min_confidence: a best match under this gets the status ``review``.
        roll_up: replace a best match under this by the deepest code above it that reaches it.
        models: folders of learned models, at the same path on every machine.
        explain: add ``<system>_why``.
        column_prefix: a prefix for the name of every new column.
        service: the paid service to buy from, in the driver; None for the embedded engine.
        partial: if the purchase stops early, return the rows so far instead of raising.
        language: the language of the CPV titles.

    Raises:
        SettingsError: an argument is wrong, or the frame already has columns with the new names.
        InputError: the frame lacks a text column, or Arrow cannot hold one of its columns.
        LedgerError, ParkedError: see `pipeline.classify`.
    """
    options: dict[str, Any] = {**locals()}
    for name in ("frame", "text_columns", "models", "service", "partial"):
        del options[name]
    _check_frame(frame)
    classifier = Classifier(text_columns=text_columns, models=models, **options)
    if service is None:
        _check_columns(frame, classifier.settings)
        return _free(frame, classifier)
    settings = classifier.settings.for_service()
    _check_columns(frame, settings)
    answers = api.classify(
        _distinct_texts(frame, settings),
        text_columns=TEXT,
        service=service,
        partial=partial,
        **options,
    )
    return _joined(frame, settings, answers.table)


def _check_frame(frame: Any) -> None:
    if not hasattr(frame, "mapInArrow") or not hasattr(frame, "schema"):
        kind = type(frame)
        raise SettingsError(
            f"frame is a {kind.__module__}.{kind.__qualname__}, not a Spark DataFrame.",
            "For tables in memory and files, call pipeline.classify.",
        )


def _check_columns(frame: DataFrame, settings: Settings) -> None:
    """Check on the driver what would fail on an executor, in the middle of the job."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema

    # Newer versions of PySpark ask for the time zone of timestamps, and older ones do not know it.
    utc = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    try:
        schema = to_arrow_schema(frame.schema, **utc)
    except PySparkException as error:
        raise InputError(
            f"Spark cannot pass a column of this frame to Python: {error}",
            "Cast that column, or drop it first and join it again.",
        ) from error
    text_columns_of(schema, settings)
    folded = {field.name.casefold(): field.name for field in new_fields(settings)}
    # Spark does not distinguish case in names, so CPV_CODE and cpv_code would be ambiguous.
    check_free([folded.get(name.casefold(), name) for name in schema.names], settings)


class _Task:
    """What an executor does with its batches.

    Spark pickles it. Where this package is missing, its content could not be unpickled, and nothing
    would say why. So that content is bytes, which a function unpickles that needs no package.
    """

    def __init__(self, work: Callable[[Batches], Batches]) -> None:
        self._work = work

    def __call__(self, batches: Batches) -> Batches:
        return self._work(batches)

    def __reduce__(self) -> tuple[Callable[[bytes], object], tuple[bytes]]:
        def unpickle(packed: bytes) -> object:
            try:
                import pipeline.spark  # noqa: F401
            except ImportError as error:
                raise ImportError(NOT_INSTALLED.format(sys.executable, error)) from None
            return pickle.loads(packed)  # noqa: S301 - made by the driver

        return unpickle, (pickle.dumps(self._work),)


def _free(frame: DataFrame, classifier: Classifier) -> DataFrame:
    work = _Task(partial(_classified, classifier, tuple(frame.columns)))
    return _numbered(frame).mapInArrow(work, _schema(frame, new_fields(classifier.settings)))


def _numbered(frame: DataFrame) -> DataFrame:
    """Number the columns, because mapInArrow takes a dot in a name for a field of a struct."""
    return frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))


def _schema(frame: DataFrame, new: Iterable[pa.Field]) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    fields = [StructField(field.name, from_arrow_type(field.type)) for field in new]
    return StructType([*frame.schema.fields, *fields])


def _classified(
    classifier: Classifier, names: Sequence[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Classify the batches of a task; this runs on executors."""
    return classifier.map(_named(batches, names))


def _distinct_texts(frame: DataFrame, settings: Settings) -> pa.Table:
    """Stream the distinct texts to the driver, sorted: their order identifies the job."""
    work = _Task(partial(_texts, settings, tuple(frame.columns)))
    texts = _numbered(frame).mapInArrow(work, f"{TEXT} string").distinct().orderBy(TEXT)
    chunks: list[pa.Array] = []
    portion: list[str] = []
    for row in texts.toLocalIterator():
        portion.append(row[0])
        if len(portion) == BATCH_ROWS:
            chunks.append(pa.array(portion, pa.string()))
            portion = []
    column = pa.chunked_array([*chunks, pa.array(portion, pa.string())])
    return pa.table({TEXT: column})


def _texts(
    settings: Settings, names: Sequence[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the distinct texts of each batch of a task; this runs on executors."""
    for piece in text_batches(_named(batches, names), settings):
        texts = {text for text in piece.texts if text}
        yield pa.RecordBatch.from_pydict({TEXT: pa.array(texts, pa.string())})


def _keyed(
    settings: Settings, names: Sequence[str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Append the key by which each row finds its answer; this runs on executors."""
    for piece in text_batches(_named(batches, names), settings):
        keys = [
            _key(text) if text else f"{WITHOUT_TEXT}{row % SPREAD}"
            for row, text in enumerate(piece.texts)
        ]
        yield piece.batch.append_column(KEY, pa.array(keys, pa.string()))


def _named(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    return (batch.rename_columns(names) for batch in batches)


def _key(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _joined(frame: DataFrame, settings: Settings, answers: pa.Table) -> DataFrame:
    """Join the answers to the rows; the first row of each text, whichever it is, has the cost."""
    from pyspark.sql.types import StringType, StructField, StructType

    numbered = _numbered(frame)
    key = StructField(KEY, StringType(), nullable=False)
    work = _Task(partial(_keyed, settings, tuple(frame.columns)))
    keyed = numbered.mapInArrow(work, StructType([*numbered.schema.fields, key]))
    bought = _answers(frame, settings, answers)
    first = f"row_number() OVER (PARTITION BY {KEY} ORDER BY {KEY}) = 1 AS first"
    rows = keyed.join(bought, KEY, "left").selectExpr("*", first)
    fields = new_fields(settings)
    new = [_expression(field.name, f"a{number}") for number, field in enumerate(fields)]
    names = [field.name for field in fields]
    return rows.selectExpr(*numbered.columns, *new).toDF(*frame.columns, *names)


def _answers(frame: DataFrame, settings: Settings, answers: pa.Table) -> DataFrame:
    """Return the answers as a Spark DataFrame with the columns a0, a1, ..., key, bought."""
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import BooleanType, StringType, StructField, StructType

    fields = new_fields(settings)
    types = [from_arrow_type(field.type) for field in fields]
    schema = [StructField(f"a{number}", kind) for number, kind in enumerate(types)]
    schema += [StructField(KEY, StringType()), StructField(BOUGHT, BooleanType())]
    columns = [answers[field.name].to_pylist() for field in fields]
    rows = zip(*columns, map(_key, answers[TEXT].to_pylist()), repeat(True))
    return frame.sparkSession.createDataFrame(list(rows), StructType(schema))


def _expression(name: str, answer: str) -> str:
    """Return the SQL of a new column, by the meaning of its name."""
    if name.endswith("_status"):
        empty = f"{KEY} LIKE '{WITHOUT_TEXT}%'"
        return f"CASE WHEN {empty} THEN 'empty' ELSE coalesce({answer}, 'pending') END"
    if name.endswith("cost_usd"):
        return f"CASE WHEN {BOUGHT} AND first THEN {answer} ELSE CAST(0 AS DECIMAL(38, 24)) END"
    return answer
