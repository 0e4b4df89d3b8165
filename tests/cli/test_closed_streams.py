"""Standard streams that are closed or full: the job is done, or an error says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forking import shell

RUN = "tender-pipeline run tenders.csv --systems psc"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"{RUN} 2>&-", ""),
        (f"{RUN} >&- 2>&-", ""),
        (f"{RUN} <&- >&- 2>&-", ""),
        (f"{RUN} >&-", "embedded engine"),
        (f"{RUN} 2>/dev/full", ""),
        (f"{RUN} | true", "embedded engine"),
        (f"{RUN} >/dev/full", "Standard output cannot be written to: No space left on device."),
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
    line = f"PYTHONIOENCODING={encoding}:strict {RUN} --output $'\u044e\\xff.csv'"
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
