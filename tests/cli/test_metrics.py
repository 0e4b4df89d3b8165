"""The figures of a run for Prometheus, as node_exporter's textfile collector reads them."""

from __future__ import annotations

import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.classification.job import Job
from pipeline.cli.output.metrics import METRICS, Finished, MetricsFile
from pipeline.cli.process import Ended, end_message
from pipeline.errors import OutputError, SettingsError
from tests.cli.conftest import Capture, Command

FILE = Path("nightly.prom")

LINE = re.compile(r'(tender_pipeline_\w+)\{(\w+="(?:[^"\\\n]|\\[\\n"])*"(?:,\w+="[^"]*")*)\} (\S+)')


def samples(text: str) -> dict[str, float]:
    """Parse a file as strictly as Prometheus: each metric has its help, its type, its samples."""
    found: dict[str, float] = {}
    described: list[str] = []
    for line in text.splitlines():
        match line.split(" ", 3):
            case ["#", "HELP", name, meaning]:
                assert METRICS[name.removeprefix("tender_pipeline_")] == meaning
                assert name not in described
                described.append(name)
            case ["#", "TYPE", name, kind]:
                assert (name, kind) == (described[-1], "gauge")
            case ["#", *_]:
                assert not found
            case _:
                sample = LINE.fullmatch(line)
                assert sample is not None, line
                assert sample[1] == described[-1]
                labels = sample[2].removeprefix('name="nightly"').removeprefix(",")
                found[sample[1].removeprefix("tender_pipeline_") + labels] = float(sample[3])
    assert text.endswith("\n")
    return found


@pytest.fixture
def run(command: Command) -> Command:
    """Run the command line for a small table, and write the metrics."""
    Path("t.csv").write_text('description\nroad works\n""\nschool meals\n')
    Path("o.csv").unlink(missing_ok=True)
    options = ("--systems", "psc", "--output", "o.csv")

    def call(*more: object, metrics_file: object = FILE) -> int:
        return command("run", "t.csv", *options, *more, metrics_file=metrics_file)

    return call


def test_a_complete_run_writes_its_figures(run: Command) -> None:
    before = time.time()
    assert run() == 0
    found = samples(FILE.read_text())
    assert before - 1 <= found["last_run_timestamp_seconds"] <= time.time() + 1
    assert found["last_success_timestamp_seconds"] == found["last_run_timestamp_seconds"]
    assert found["last_run_exit_code"] == 0
    assert found["last_run_duration_seconds"] >= 0
    assert found["rows"] == 3
    assert found["row_statuses" + 'system="psc",status="empty"'] == 1
    assert sum(rows for name, rows in found.items() if name.startswith("row_statuses")) == 3
    assert found["cost_usd"] == 0
    assert not {"attempts", "at_risk_usd"} & set(found)  # nothing is bought


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (OutputError("The disk is full.", "Free some space."), 2),
        (SystemExit(143), 143),
        (KeyboardInterrupt(), 130),
        (RuntimeError("a bug"), 1),
        (SettingsError("top is 11.", "Write 1 to 10."), 2),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_run_that_fails_writes_why_and_keeps_the_last_success(
    run: Command, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int
) -> None:
    assert run() == 0
    first = samples(FILE.read_text())
    now = first["last_run_timestamp_seconds"] + 60

    def broken(*_: object, **__: object) -> Any:
        raise raised

    monkeypatch.setattr(Job, "run", broken)
    clock = SimpleNamespace(time=lambda: now, monotonic=time.monotonic)
    monkeypatch.setattr("pipeline.cli.output.metrics.time", clock)
    assert run() == code
    found = samples(FILE.read_text())
    assert found["last_run_exit_code"] == code
    assert found["last_run_timestamp_seconds"] == pytest.approx(now, abs=0.01)
    assert found["last_success_timestamp_seconds"] == first["last_success_timestamp_seconds"]
    assert "rows" not in found


def test_several_files_are_counted_together(command: Command) -> None:
    for name in ("a", "b"):
        Path(f"{name}.csv").write_text("description\nroad works\n")
    options = ("--systems", "psc", "--output", "coded")
    assert command("run", "a.csv", "b.csv", *options, metrics_file=FILE) == 0
    assert samples(FILE.read_text())["rows"] == 2


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nightly.txt", "nightly.txt does not end in .prom"),
        ("nightly.PROM", "nightly.PROM does not end in .prom"),
        ("mine.prom", "mine.prom exists, and this tool did not write it."),
        ("folder.prom", "folder.prom is a folder."),
        ("t.csv/x.prom", "or write elsewhere: metrics-file FILE.prom."),
    ],
)
def test_a_wrong_place_is_refused_before_the_work(
    run: Command, capsys: Capture, name: str, said: str
) -> None:
    Path("mine.prom").write_text("node_load1 0.5\n")
    Path("folder.prom").mkdir()
    assert run(metrics_file=name) == 2
    assert said in capsys.readouterr().err
    assert not Path("o.csv").exists()
    assert Path("mine.prom").read_text() == "node_load1 0.5\n"


def test_metrics_that_cannot_be_written_change_no_exit_code(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "gone" / "nightly.prom"

    def work(_: object) -> int:
        (tmp_path / "gone").write_text("a file in place of the folder")
        return 3

    assert MetricsFile.at(path, False).measure(work) == 3
    assert "nightly.prom cannot be written" in caplog.text


def test_an_interrupt_while_figures_are_exported_does_not_deny_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    file = MetricsFile.at(tmp_path / "nightly.prom", False)
    monkeypatch.setattr("pipeline.files.atomic.replace_text", interrupted)
    with pytest.raises(Ended) as stop:
        file.measure(lambda _: 0)
    assert end_message(130, stop.value) == (
        "Interrupted; the run itself had ended, but not all of its figures were exported."
    )

    def fails(_: Finished) -> int:
        raise OutputError("No.", "Yes.")

    with pytest.raises(OutputError):
        file.measure(fails)


def test_a_name_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / 'a"b\\c\udcfe.prom'
    MetricsFile.at(path, False).measure(lambda _: 0)
    assert r'{name="a\"b\\c?"} 0' in path.read_text()
