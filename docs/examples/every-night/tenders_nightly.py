"""An Airflow DAG that classifies the tenders of a night; needs Airflow 3.

Airflow tries again what may succeed later, and fails at once where a person is needed.
"""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta

from airflow.exceptions import AirflowException, AirflowFailException
from airflow.sdk import dag, task

FOLDER = "/srv/tenders"
"""Has tenders.csv and tender-pipeline.toml; the codes and the reports go there."""

PROGRAM = "/opt/tenders/bin/tender-pipeline"

COMPLETE = (0, 3)

LATER = (6, 7, 129, 130, 143)
"""The service is down, a limit is reached, or a signal came: the same command continues."""


@dag(
    schedule="15 2 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,  # one run buys at a time
    default_args={"retries": 8, "retry_delay": timedelta(minutes=15)},
)
def tenders_nightly() -> None:
    """Classify the table once a night."""

    @task
    def classify() -> None:
        report = f"reports/{datetime.now(UTC):%Y-%m-%d-%H%M%S}.html"
        command = [PROGRAM, "run", "tenders.csv", "--config", "tender-pipeline.toml"]
        command += ["--output", "codes.csv", "--report", report]
        with subprocess.Popen(command, cwd=FOLDER) as process:
            try:
                code = process.wait()
            except BaseException:
                process.terminate()  # not kill: it finishes the requests under way
                raise
        if code in LATER:
            raise AirflowException(f"exit code {code}: it continues at the next try")
        if code not in COMPLETE:
            raise AirflowFailException(f"exit code {code}: a person is needed; see the log")

    classify()


tenders_nightly()
