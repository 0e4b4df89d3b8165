"""``run --report``: the page about a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.classification.manifest import STARTED
from pipeline.errors import OutputError
from tests.cli.conftest import Capture, Command

OPTIONS = ("--systems", "cpv", "--output", "o.csv", "--report", "r.html")
RUN = ("run", "t.csv", *OPTIONS)


@pytest.fixture(autouse=True)
def _a_table(command: Command) -> None:
    Path("t.csv").write_text("description\nroad works\n")


def test_a_report_is_written_and_compares_with_the_run_before(
    command: Command, caplog: pytest.LogCaptureFixture
) -> None:
    Path("t.csv").write_text("description\nroad works\nschool meals\n")
    assert command(*RUN) == 0
    assert "report: r.html" in caplog.messages
    first = Path("r.html").read_text("utf-8")
    assert "t.csv" in first
    assert "Since the last run" not in first
    Path("t.csv").write_text("description\nroad works\nschool meals\nschool bus\n")
    assert command(*RUN) == 0
    second = Path("r.html").read_text("utf-8")
    assert '<td class="n">2</td><td class="n">3</td>' in second
    assert "<dt>New rows</dt><dd>1</dd>" in second
    assert "<dt>Rows with another code</dt><dd>0</dd>" in second
    Path("o.csv").write_text("description,cpv_code\nroad works,1\n")
    Path("t.csv").write_text("description\nroad works\n")
    assert command(*RUN, "--overwrite") == 0
    assert "The rows are not compared" in Path("r.html").read_text("utf-8")


def test_a_report_does_not_compare_with_a_run_that_wrote_no_output(command: Command) -> None:
    Path("o.csv.manifest.json").write_text(json.dumps(STARTED))
    assert command(*RUN) == 0
    assert "Since the last run" not in Path("r.html").read_text("utf-8")


def test_a_report_compares_the_tables_of_ocds_releases(command: Command) -> None:
    for titles in (["road works"], ["road works", "school bus"]):
        releases = [{"ocid": title, "id": "1", "tender": {"title": title}} for title in titles]
        Path("t.json").write_text(json.dumps({"releases": releases}))
        assert command("run", "t.json", *OPTIONS) == 0
    assert "<dt>New rows</dt><dd>1</dd>" in Path("r.html").read_text("utf-8")


def test_a_report_replaces_only_reports_and_must_be_a_page(
    command: Command, capsys: Capture
) -> None:
    Path("r.html").write_text("my own")
    assert command(*RUN) == 2
    assert "r.html exists, and this tool did not write it." in capsys.readouterr().err
    assert not Path("o.csv").exists()
    assert Path("r.html").read_text() == "my own"
    assert command(*RUN, "--report", "r.csv") == 2
    assert "r.csv does not end in .html" in capsys.readouterr().err
    assert not Path("o.csv").exists()


def test_an_interrupt_while_the_report_is_written_does_not_deny_the_output(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr("pipeline.cli.output.report.RunReport.write", interrupted)
    assert command(*RUN) == 130
    said = capsys.readouterr().err
    assert "Interrupted; the output was written, but not the report." in said
    assert Path("o.csv").exists()


def test_a_report_that_cannot_be_written_hides_no_summary(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def full(*_: object) -> bool:
        raise OutputError("r.html cannot be written: No space left on device.", "Free some space.")

    monkeypatch.setattr("pipeline.cli.output.report.RunReport.write", full)
    assert command(*RUN, metrics_file="m.prom") == 2
    said = capsys.readouterr()
    assert "output: o.csv" in said.out
    assert "r.html" not in said.out
    assert said.err.endswith(
        "r.html cannot be written: No space left on device.\n"
        "The table was written all the same. Free some space.\n"
    )
    assert 'tender_pipeline_rows{name="m"} 1' in Path("m.prom").read_text()
    assert command(*RUN, "--json") == 2
    assert json.loads(capsys.readouterr().out)["output"] == "o.csv"
