"""Measures the processor time of a row on Spark against that in one process.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.spark_cpu [--rows 20000] [--tasks 2]

Both classify the same distinct texts, after a small job that loads the models. The time on Spark
is that of all its processes, the JVM's included. It needs the extra `spark` and Java.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import pipeline
import pipeline.spark
from benchmarks.command_line import parser_for
from benchmarks.texts import made_texts

TICKS = os.sysconf("SC_CLK_TCK")
WARM_UP = 200


def main() -> None:
    """Measure and print."""
    parser = parser_for(__file__, __doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--systems", default="cpv,psc,unspsc,naics")
    parser.add_argument("--tasks", type=int, default=2, help="tasks at once, and partitions")
    arguments = parser.parse_args()
    table = pa.table({"description": made_texts(arguments.rows)})
    print(f"{table.num_rows:,} distinct texts; {arguments.systems}")

    classifier = pipeline.Classifier(systems=arguments.systems)
    classifier(table.slice(0, WARM_UP))
    alone = _cpu(lambda: classifier(table))
    print(f"one process {1000 * alone / table.num_rows:.3f} ms of CPU a row", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        on_spark = _on_spark(Path(folder), table, arguments.systems, arguments.tasks)
    print(f"Spark       {1000 * on_spark / table.num_rows:.3f} ms of CPU a row")
    print(f"ratio       {on_spark / alone:.2f}")


def _on_spark(folder: Path, table: pa.Table, systems: str, tasks: int) -> float:
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    pq.write_table(table, folder / "rows.parquet")
    spark = SparkSession.builder.master(f"local[{tasks}]").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def write(frame: DataFrame, name: str) -> None:
        coded = pipeline.spark.classify(frame.repartition(tasks), systems=systems)
        coded.write.parquet(str(folder / name))

    rows = spark.read.parquet(str(folder / "rows.parquet"))
    write(rows.limit(WARM_UP), "warm-up")
    used = _cpu(lambda: write(rows, "coded"))
    spark.stop()
    return used


def _cpu(work: Callable[[], object]) -> float:
    """Return the processor seconds of this process and its descendants during a call."""
    before = _used(os.getpid())
    started = time.perf_counter()
    work()
    used = _used(os.getpid()) - before
    print(f"  {used:.1f} s of CPU in {time.perf_counter() - started:.1f} s", flush=True)
    return used


def _used(process: int) -> float:
    """Return the processor seconds of a process and of its descendants, ended ones included."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    own = sum(map(int, fields[11:15])) / TICKS
    children = [
        int(child)
        for listed in Path(f"/proc/{process}/task").glob("*/children")
        for child in listed.read_text().split()
    ]
    return own + sum(map(_used, children))


if __name__ == "__main__":
    main()
