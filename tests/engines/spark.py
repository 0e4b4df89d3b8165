"""Starts Spark for the tests, once, with a classic and a Spark Connect session on the same JVM."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

OLD_PANDAS = "ignore:PySpark does not yet fully support pandas"
"""PySpark 4 warns of pandas 3, whose frames these tests do not use."""


def reason_to_skip() -> str:
    """Return why Spark cannot be tested here; "" if it can."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return "starts Spark: run this file with -n 0"
    if find_spec("pyspark") is None or find_spec("grpc") is None:
        return "needs the extra: pip install '.[spark]'"
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "needs Java 17: apt-get install openjdk-17-jre-headless"
    return ""


needs_spark = pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or "-")


def environment() -> dict[str, str]:
    """Return the variables with which Spark's processes find Python, this package and loopback."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1"}


@contextmanager
def sessions() -> Iterator[dict[str, Any]]:
    """Run Spark with two tasks at once, each tried twice; give both sessions."""
    from pyspark.sql import SparkSession

    port = free_port()
    builder = SparkSession.builder.master("local[2, 2]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
    }.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore")
        classic = builder.getOrCreate()
        try:
            from pyspark.sql.connect.session import SparkSession as Connect

            remote = Connect.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
            yield {"classic": classic, "connect": remote}
            remote.stop()  # before its server, for which it would wait
        finally:
            classic.stop()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def classifying_workers() -> list[int]:
    """Return the descendants of this test that have mapped the shipped models."""
    found = []
    for process in descendants(os.getpid()):
        try:
            if "/shipped/psc." in Path(f"/proc/{process}/maps").read_text():
                found.append(process)
        except OSError:
            continue  # it has ended
    return found


def descendants(process: int) -> Iterator[int]:
    for listed in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = [int(child) for child in listed.read_text().split()]
        except OSError:
            continue  # the thread has ended
        for child in children:
            yield child
            yield from descendants(child)
