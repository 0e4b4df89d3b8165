"""What executors of Spark are sent; `tests/engines/test_spark.py` has Spark itself."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import cloudpickle  # as Spark does
import pytest

import pipeline.spark


class Frame:
    """A frame that keeps the work that it is given, as Spark would send it."""

    columns = ("c0",)

    def toDF(self, *_: str) -> Frame:  # noqa: N802 - Spark's name
        return self

    def mapInArrow(self, work: Any, _: object) -> bytes:  # noqa: N802 - Spark's name
        sent: bytes = cloudpickle.dumps(work)
        return sent


def sent(monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setattr(pipeline.spark, "_check_columns", lambda *_: None)
    monkeypatch.setattr(pipeline.spark, "_schema", lambda *_: None)
    frame: Any = Frame()
    frame.schema = None
    found: Any = pipeline.spark.classify(frame, systems="cpv")
    return bytes(found)


def test_a_worker_without_the_package_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else Spark shows only that there is no module named pipeline."""
    code = "import pickle, sys; pickle.loads(sys.stdin.buffer.read())"
    paths = f"import sys; sys.path.append({str(cloudpickle.__path__[0] + '/..')!r}); "
    hidden = "sys.modules['pipeline'] = None; "
    done = subprocess.run(
        [sys.executable, "-I", "-c", paths + hidden + code],
        input=sent(monkeypatch),
        capture_output=True,
        check=False,
    )
    (line,) = done.stderr.decode().splitlines()[-1:]
    assert line.startswith(f"ImportError: The Python of this Spark worker, {sys.executable},")
    assert "set PYSPARK_PYTHON to a Python that has it" in line


def test_a_worker_with_the_package_classifies(monkeypatch: pytest.MonkeyPatch) -> None:
    work = pickle.loads(sent(monkeypatch))
    assert callable(work)
