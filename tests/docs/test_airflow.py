"""Airflow itself takes the DAG of the examples.

Airflow does not fit into the environment of the other tests, so this file imports nothing of the
project: ``python -m pytest --noconftest -c /dev/null --rootdir . tests/docs/test_airflow.py``.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("airflow", reason="Airflow has an environment of its own")

FOLDER = Path(__file__).parents[2] / "docs" / "examples" / "every-night"


@pytest.fixture
def dag() -> Any:
    from airflow.models.dagbag import DagBag

    bag = DagBag(FOLDER, include_examples=False)
    assert bag.import_errors == {}
    assert list(bag.dags) == ["tenders_nightly"]
    return bag.dags["tenders_nightly"]


def test_one_run_at_a_time_each_night_and_none_for_the_past(dag: Any) -> None:
    assert (dag.max_active_runs, dag.catchup) == (1, False)
    assert dag.timetable.summary == "15 2 * * *"
    (task,) = dag.tasks
    assert (task.retries, task.retry_delay) == (8, timedelta(minutes=15))


@pytest.mark.parametrize(
    ("code", "raised"),
    [
        *((code, None) for code in (0, 3)),
        *((code, "AirflowException") for code in (6, 7, 129, 130, 143)),
        *((code, "AirflowFailException") for code in (1, 2, 4, 5, 8)),
    ],
)
def test_each_exit_code_is_done_again_later_or_for_a_person(
    dag: Any, tmp_path: Path, code: int, raised: str | None
) -> None:
    program = tmp_path / "tender-pipeline"
    program.write_text(f'#!/bin/sh\necho "$@" > arguments\nexit {code}\n')
    program.chmod(0o755)
    (task,) = dag.tasks
    task.python_callable.__globals__.update(PROGRAM=str(program), FOLDER=str(tmp_path))
    if raised is None:
        task.python_callable()
    else:
        with pytest.raises(Exception, match=f"exit code {code}:") as error:
            task.python_callable()
        assert type(error.value).__name__ == raised
    said = (tmp_path / "arguments").read_text()
    assert said.startswith("run tenders.csv --config tender-pipeline.toml --output codes.csv")
