"""Spark for real, in a classic session and through Spark Connect."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pipeline
import pipeline.spark
from benchmarks.texts import made_texts
from tests.docs.pages import blocks, page
from tests.engines.spark import OLD_PANDAS, classifying_workers, environment, needs_spark, sessions
from tests.engines.tables import rows_of
from tests.paid.conftest import service
from tests.paid.serving import Service, serving

__all__ = ["service"]

pytestmark = [needs_spark, pytest.mark.filterwarnings(OLD_PANDAS)]

BOTH = pytest.mark.parametrize("kind", ["classic", "connect"])


@pytest.fixture(scope="module")
def spark() -> Iterator[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment().items():
            patch.setenv(name, value)
        with sessions() as both:
            yield both


def rows(frame: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = frame.toArrow().sort_by("n").to_pylist()
    return found


@pytest.mark.parametrize("number", [1, 2], ids=["spark-submit", "connect"])
def test_the_job_of_the_page_has_the_columns_of_run(
    number: int, folder: Path, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    """The page's own job, in a process of its own, with each of the page's commands."""
    (tmp_path / "tenders.parquet").symlink_to(folder / "tenders.parquet")
    (tmp_path / "job.py").write_text(blocks(page("how-to/spark"), "python")[0], "utf-8")
    command = blocks(page("how-to/spark"), "sh")[number]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env=os.environ | environment() | {"PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert rows_of(tmp_path / "coded.parquet") == expected


def test_rows_in_any_partition_have_the_columns_of_run_through_connect(
    spark: dict[str, Any], folder: Path, expected: list[dict[str, Any]]
) -> None:
    frame = spark["connect"].read.parquet(str(folder / "tenders.parquet")).repartition(7)
    coded = pipeline.spark.classify(frame, systems=["psc", "naics"], top=2)
    assert rows(coded) == expected


@BOTH
def test_columns_of_every_type_keep_their_values(spark: dict[str, Any], kind: str) -> None:
    schema = """n int not null, `tender.title` string, b binary, day date, at timestamp,
        local timestamp_ntz, price decimal(20, 5), tags array<string>, counts map<string, bigint>,
        buyer struct<name: string, ids: array<int>>, yes boolean, ratio float"""
    now = datetime(2026, 3, 29, 1, 30)
    full = (
        1,
        "Office chairs",
        b"\0\xff",
        now.date(),
        now,
        now,
        Decimal("12345.67890"),
        ["a", None],
    )
    frame = spark[kind].createDataFrame(
        [
            (*full, {"k": 2**40, "l": None}, ("City", [1, 2]), True, 0.5),
            (2, *[None] * 11),
        ],
        schema,
    )
    coded = pipeline.spark.classify(frame, systems="psc", text_columns="tender.title")
    assert coded.schema.fields[: len(frame.columns)] == frame.schema.fields
    assert coded.collect()[0][:12] == frame.collect()[0][:12]
    assert [row["psc_status"] for row in coded.orderBy("n").collect()][1] == "empty"
    assert coded.columns[len(frame.columns) :] == [
        *(f"psc_{name}" for name in ("code", "title", "confidence", "status", "cost_usd")),
        "cost_usd",
    ]


@BOTH
def test_nothing_runs_before_the_result_is_used(spark: dict[str, Any], kind: str) -> None:
    frame = spark[kind].range(1).selectExpr("raise_error('it was read') AS description")
    coded = pipeline.spark.classify(frame.selectExpr("string(description) AS description"))
    with pytest.raises(Exception, match=r"it was read"):
        coded.collect()


@BOTH
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("1 AS n", r"has no column 'description'. Its columns: 'n'\. .*text_columns=\[\"NAME\"\]"),
        ("struct(1) AS description", "has the type struct<.*>, not text"),
        ("'a' AS description, 1 AS PSC_Code", r"column 'psc_code'.*column_prefix=\"new_\""),
        ("'a' AS description, make_interval(1) AS i", "Spark cannot pass a column .*Cast"),
    ],
)
def test_a_wrong_frame_is_refused_before_anything_runs(
    spark: dict[str, Any], kind: str, columns: str, message: str
) -> None:
    frame = spark[kind].range(1).selectExpr(*columns.split(", "))
    with pytest.raises(pipeline.PipelineError, match=message):
        pipeline.spark.classify(frame, systems="psc")


def test_what_is_not_a_frame_is_refused() -> None:
    with pytest.raises(pipeline.SettingsError, match=r"a builtins\.str, not a Spark DataFrame"):
        pipeline.spark.classify("tenders.parquet")


def test_a_worker_loads_the_models_once_and_has_one_thread(spark: dict[str, Any]) -> None:
    classifier = pipeline.Classifier(systems="naics")

    def probe(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import builtins

        opened = vars(builtins).get("opened_arrays")
        if opened is None:
            opened = vars(builtins)["opened_arrays"] = []

            def note(event: str, arguments: tuple[Any, ...]) -> None:
                if event == "open" and str(arguments[0]).endswith(".npy"):
                    opened.append(str(arguments[0]))

            sys.addaudithook(note)
        rows = sum(batch.num_rows for batch in classifier.map(batches))
        found = {
            "worker": os.getpid(),
            "rows": rows,
            "loaded": len(opened),
            "distinct": len(set(opened)),
            "threads": os.environ["OMP_NUM_THREADS"],
        }
        yield pa.RecordBatch.from_pylist([found])

    schema = "worker bigint, rows bigint, loaded bigint, distinct bigint, threads string"
    texts = spark["connect"].range(60).selectExpr("concat('chairs ', id) AS description")
    tasks = texts.repartition(6).mapInArrow(probe, schema).collect()
    assert len(tasks) == 6 and sum(task["rows"] for task in tasks) == 60
    assert len({task["worker"] for task in tasks}) < 6, "no worker had a second task"
    loaded = [task for task in tasks if task["loaded"]]
    assert loaded and all(task["loaded"] == task["distinct"] for task in loaded)
    assert {task["threads"] for task in tasks} == {"1"}


def test_a_killed_worker_neither_loses_nor_doubles_a_row(spark: dict[str, Any]) -> None:
    """It is killed while it classifies its first rows; Spark tries its task again."""
    idle = classifying_workers()
    killed: list[int] = []
    over = threading.Event()

    def kill() -> None:
        while not killed and not over.wait(0.005):
            for process in set(classifying_workers()) - set(idle):
                os.kill(process, signal.SIGKILL)
                killed.append(process)

    for process in idle:
        os.kill(process, signal.SIGKILL)
    texts = made_texts(2000)
    whole = pa.table({"n": range(len(texts)), "description": texts})
    frame = spark["classic"].createDataFrame(list(enumerate(texts)), "n bigint, description string")
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        coded = rows(pipeline.spark.classify(frame.repartition(2), systems="psc"))
    finally:
        over.set()
        killer.join()
    assert killed, "no worker was killed"
    assert coded == pipeline.classify(whole, systems="psc").table.to_pylist()


TEXTS = ["road works", None, "office chairs", "road  works", "school meals", "office chairs"]


@pytest.fixture
def paid(service: Service, tmp_path: Path) -> Callable[..., pipeline.PaidService]:
    def terms(address: str, **more: Any) -> pipeline.PaidService:
        more = {"api_key": service.account.key, "rate": "none", "workers": 1, **more}
        return pipeline.PaidService(address, ledger=tmp_path / "ledger.db", **more)

    return terms


def tenders(spark: Any) -> Any:
    frame = spark.createDataFrame(list(enumerate(TEXTS)), "n int, description string")
    return frame.repartition(3)


def test_a_paid_text_is_bought_once_and_one_of_its_rows_carries_the_cost(
    spark: dict[str, Any], service: Service, paid: Any
) -> None:
    frame = tenders(spark["classic"])
    with serving(service.app()) as address:
        options = {"systems": ["cpv", "psc"], "top": 2, "service": paid(address)}
        coded = rows(pipeline.spark.classify(frame, **options))
        bought = Counter(service.asked)
        again = rows(pipeline.spark.classify(frame, **options))
    distinct = ["office chairs", "road works", "school meals"]
    assert bought == {(system, text): 1 for system in ("cpv", "psc") for text in distinct}
    assert Counter(service.asked) == bought, "the second job bought something"
    assert [row["description"] for row in coded] == TEXTS
    assert [row["cpv_status"] for row in coded] == ["ok", "empty", *["ok"] * 4]
    assert coded[0]["cpv_matches"] == coded[3]["cpv_matches"] != coded[2]["cpv_matches"]
    assert sum(row["cost_usd"] for row in coded) == service.charged > 0
    assert sum(row["cpv_cost_usd"] > 0 for row in coded) == 3
    assert coded[1]["cost_usd"] == 0
    assert sum(row["cost_usd"] for row in again) == 0


def test_a_purchase_that_stops_early_is_continued(
    spark: dict[str, Any], service: Service, paid: Any
) -> None:
    frame = tenders(spark["connect"])
    with serving(service.app()) as address:
        little = paid(address, max_cost="0.0002")
        with pytest.raises(pipeline.ParkedError, match="cost"):
            pipeline.spark.classify(frame, systems="cpv", service=little)
        some = pipeline.spark.classify(frame, systems="cpv", service=little, partial=True)
        statuses = Counter(row["cpv_status"] for row in some.collect())
        assert statuses["pending"] > 0 and statuses["ok"] > 0
        coded = rows(pipeline.spark.classify(frame, systems="cpv", service=paid(address)))
    assert max(Counter(service.asked).values()) == 1
    assert sum(row["cost_usd"] for row in coded) == service.charged > 0


def test_an_executor_must_not_buy(spark: dict[str, Any], paid: Any) -> None:
    def buying(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pipeline.PaidService("https://service.example", api_key="k")
        yield from batches

    frame = spark["classic"].range(1)
    with pytest.raises(Exception, match=r"a Spark executor, which must not buy.*in the driver"):
        frame.mapInArrow(buying, "id bigint").collect()
    taken = paid("https://service.example")
    with pytest.raises(Exception, match=r"cannot be sent to another process.*in the driver"):
        frame.mapInArrow(lambda batches: (taken, batches)[1], "id bigint").collect()


def test_a_row_whose_text_was_not_bought_is_pending(
    spark: dict[str, Any], service: Service, paid: Any, tmp_path: Path
) -> None:
    """The table changes between the purchase and its use."""
    path = str(tmp_path / "growing")
    session = spark["classic"]
    tenders(session).coalesce(1).write.parquet(path)
    with serving(service.app()) as address:
        coded = pipeline.spark.classify(
            session.read.parquet(path), systems="cpv", service=paid(address)
        )
    (file,) = Path(path).glob("*.parquet")
    table = pa.table({"n": pa.array([0, 9], pa.int32()), "description": ["road works", "new"]})
    pq.write_table(table, file)
    file.with_name(f".{file.name}.crc").unlink()
    assert [row["cpv_status"] for row in rows(coded)] == ["ok", "pending"]
