"""A table from standard input, and one to standard output; streams that are closed or full."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Command
from tests.forking import ran, shell

RUN = "tender-pipeline run"
PSC = "--systems psc"


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def parquet_of(texts: list[str]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"description": texts}), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "options", ["- < tenders.csv", "- --output - <tenders.csv", "tenders.csv --output -"]
)
def test_the_table_goes_to_standard_output_and_all_else_to_standard_error(
    tmp_path: Path, table: Path, options: str
) -> None:
    code, out, err = shell(f"{RUN} {PSC} {options}", tmp_path)
    assert code == 0, err
    rows = out.splitlines()
    assert rows[0].startswith("ref,description,title,psc_code,")
    assert [row.split(",")[0] for row in rows[1:]] == ["007", "008", "009"]
    named = "tenders.csv" if options.startswith("tenders") else "standard input"
    assert "3 rows in" in err and f" {named}: psc, embedded engine" in err
    assert [path.name for path in tmp_path.iterdir()] == ["tenders.csv"]  # no manifest either


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ("-", [], ["input    standard input, 1 row", "output   standard output"]),
        ("tenders.csv", ["--output", "-"], ["tenders.csv, 3 rows", "output   standard output"]),
        ("-", ["--output", "out.csv"], ["input    standard input, 1 row", "out.csv"]),
    ],
)
def test_an_open_job_names_standard_streams_and_the_command_continues_it(
    command: Command,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    source: str,
    options: list[str],
    said: list[str],
) -> None:
    feed(monkeypatch, b"description\nroads\n")
    paid = ("--base-url", "http://127.0.0.1:9", "--max-cost", "0.00001", "--ledger", "ledger.db")
    assert command("run", source, "--systems", "psc", *options, *paid, api_key="key") == 5
    capsys.readouterr()
    assert command("ledger", "jobs", "--ledger", "ledger.db") == 0
    out = capsys.readouterr().out
    assert all(part in out for part in [*said, "The same command continues."])


def test_the_summary_as_json_is_the_last_line_of_standard_error(
    tmp_path: Path, table: Path
) -> None:
    code, out, err = shell(f"{RUN} {PSC} --json - < tenders.csv", tmp_path)
    assert code == 0
    assert out.startswith("ref,description,")
    assert json.loads(err.splitlines()[-1])["rows"] == 3
    assert json.loads(err.splitlines()[-1])["output"] is None


def test_an_error_as_json_is_not_mixed_into_the_table(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_bytes(b"")
    code, out, err = shell(f"{RUN} {PSC} --json - < bad.csv", tmp_path)
    assert code == 2
    assert out == ""
    assert json.loads(err.splitlines()[0])["exit_code"] == 2
    code, out, err = shell(f"{RUN} {PSC} --json - --no-such-option < bad.csv", tmp_path)
    assert (code, out) == (2, "")
    assert json.loads(err.splitlines()[0])["exit_code"] == 2


def test_the_format_is_that_of_the_input_unless_it_is_stated(
    command: Command, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    feed(monkeypatch, parquet_of(["roads", ""]))
    assert command("run", "-", "--systems", "psc") == 0
    found = pq.read_table(pa.BufferReader(capfdbinary.readouterr().out))
    assert found.column_names[:2] == ["description", "psc_code"]
    assert found["description"].to_pylist() == ["roads", ""]
    feed(monkeypatch, parquet_of(["roads"]))
    assert command("run", "-", "--systems", "psc", "--output-format", "csv") == 0
    assert capfdbinary.readouterr().out.startswith(b"description,psc_code,")
    feed(monkeypatch, b"description\troads\nchairs\tx\n")
    assert command("run", "-", "--systems", "psc", "--output-format", "parquet") == 0
    assert pq.read_table(pa.BufferReader(capfdbinary.readouterr().out)).num_rows == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("- <&-", "Standard input is closed."),
        ("- <<< $'description\\nroads\\nragged,1'", "Standard input, line 3: "),
        (
            "- <<< $'text\\nroads'",  # it has the words
            r"Standard input has no column 'description'\.(.|\n)* Did you mean 'text'\?",
        ),
        ("- --output-format parquet <<< $'description,a,a\\nroads,1,2'", ""),
        ("tenders.csv --output - --text-column none", "tenders.csv has no column 'none'."),
    ],
)
def test_a_run_that_fails_sends_nothing(tmp_path: Path, table: Path, line: str, said: str) -> None:
    code, out, err = shell(f"{RUN} {PSC} {line}", tmp_path)
    assert (code, out) == (2, "")
    assert " ERROR " in err and "Traceback" not in err
    assert re.search(said, err)
    assert "tender-pipeline-" not in err, "the name of the copy"


def test_what_fails_in_the_middle_of_writing_sends_nothing(
    command: Command,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pipeline.tables.csv_table.CsvWriter.close", full)
    assert command("run", table, "--systems", "psc", "--output", "-") == 2
    captured = capfdbinary.readouterr()
    assert captured.out == b""
    assert b"No space left on device" in captured.err


@pytest.mark.parametrize("reader", ["true", "head -1"])
def test_a_reader_that_leaves_early_is_not_an_error(tmp_path: Path, reader: str) -> None:
    rows = "".join(f"{number},Road marking {'x' * 5_000}\n" for number in range(100))
    (tmp_path / "long.csv").write_text("id,description\n" + rows)  # more than a pipe holds
    code, _, err = shell(f"{RUN} {PSC} long.csv --output - | {reader}", tmp_path)
    assert code == 0, err
    assert "Standard output was closed before the whole table was sent." in err
    assert "Traceback" not in err and "Exception ignored" not in err


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (">&-", "Standard output is closed."),
        (">/dev/full", "Standard output cannot be written to: No space left on device."),
    ],
)
def test_a_table_that_cannot_be_sent_is_an_error(
    tmp_path: Path, table: Path, place: str, said: str
) -> None:
    line = f"{RUN} {PSC} tenders.csv --output - {place}"
    code, _, err = shell(line, tmp_path)
    assert code == 2
    assert f" ERROR {said}" in err
    assert "Traceback" not in err and "Exception ignored" not in err


def test_parquet_is_not_sent_to_a_terminal(tmp_path: Path, table: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        environment = {**os.environ, "TENDER_PIPELINE_OUTPUT_FORMAT": "parquet"}
        done = ran(["run", table, "--output", "-"], env=environment, cwd=tmp_path, stdout=theirs)
    finally:
        os.close(theirs)
        os.close(ours)
    assert done.returncode == 2
    assert "A table of the format parquet cannot be shown on a terminal." in done.stderr
    assert "--output-format csv" in done.stderr


TENDERS = f"{RUN} tenders.csv {PSC}"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"{TENDERS} 2>&-", ""),
        (f"{TENDERS} >&- 2>&-", ""),
        (f"{TENDERS} <&- >&- 2>&-", ""),
        (f"{TENDERS} >&-", "embedded engine"),
        (f"{TENDERS} 2>/dev/full", ""),
        (f"{TENDERS} | true", "embedded engine"),
        (f"{TENDERS} >/dev/full", "Standard output cannot be written to: No space left on device."),
    ],
)
def test_a_stream_that_is_closed_or_full_does_not_undo_the_job(
    tmp_path: Path, table: Path, line: str, said: str
) -> None:
    code, out, err = shell(line, tmp_path)
    assert code == 0, err
    assert said in err
    assert "Traceback" not in err and "Exception ignored" not in err and "Error" not in err
    assert "--- Logging error" not in err
    if "2>&-" in line and ">&- 2>&-" not in line:
        assert "output: outputs/tenders.classified.csv" in out
    enriched = (tmp_path / "outputs" / "tenders.classified.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in enriched] == ["ref", "007", "008", "009"]
    assert (tmp_path / "outputs" / "tenders.classified.csv.manifest.json").is_file()


@pytest.mark.parametrize("what", ["search road --top 50", "show 45000000", ""])
def test_codes_may_be_cut_short(tmp_path: Path, what: str) -> None:
    assert shell(f"tender-pipeline codes {what} | true", tmp_path) == (0, "", "")


@pytest.mark.parametrize(
    ("encoding", "shown"), [("latin-1", "\\u044e\\udcff.csv"), ("utf-8", "\u044e\\udcff.csv")]
)
def test_a_name_that_the_terminal_cannot_show_does_not_undo_the_job(
    tmp_path: Path, table: Path, encoding: str, shown: str
) -> None:
    assert table.exists()
    line = f"PYTHONIOENCODING={encoding}:strict {TENDERS} --output $'\u044e\\xff.csv'"
    code, out, err = shell(line, tmp_path)
    assert (code, f"output: {shown}\n" in out) == (0, True), err
    assert (tmp_path / "\u044e\udcff.csv").is_file()


@pytest.mark.parametrize("how", ["", "PYTHONUNBUFFERED=1 "])
def test_codes_that_cannot_be_printed_are_an_error(tmp_path: Path, how: str) -> None:
    line = f"{how}tender-pipeline codes show 45000000 >/dev/full"
    code, _, err = shell(line, tmp_path)
    assert code == 2
    assert err.startswith("Error: Standard output cannot be written to")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("line", "stream", "code"),
    [
        ("tender-pipeline run nowhere.csv", "2>/dev/full", 2),
        ("tender-pipeline run --nothing", "2>&-", 2),
        ("tender-pipeline codes nothing", "2> >(true)", 2),
        ("tender-pipeline plan tenders.csv --systems psc", "2>/dev/full", 0),
        ("touch not.db; tender-pipeline ledger jobs --ledger not.db", "2>&-", 8),
    ],
)
def test_an_error_that_nobody_can_read_has_its_exit_code(
    tmp_path: Path, table: Path, line: str, stream: str, code: int
) -> None:
    assert table.exists()
    assert shell(f"{line} {stream} >/dev/null", tmp_path) == (code, "", "")


@pytest.mark.parametrize("command", ["", "run ", "accounts "])
def test_help_that_cannot_be_printed_is_an_error_and_help_cut_short_is_none(
    tmp_path: Path, command: str
) -> None:
    line = f"tender-pipeline {command}--help"
    assert shell(f"{line} | true", tmp_path) == (0, "", "")
    code, _, err = shell(f"{line} >/dev/full", tmp_path)
    assert code == 2
    assert "Standard output cannot be written to: No space left on device." in err
    assert "Exception ignored" not in err
