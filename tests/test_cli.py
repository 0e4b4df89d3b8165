"""The command line as a user or a scheduler meets it."""

from __future__ import annotations

import gzip
import io
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipeline.cli import main

SAMPLE = Path(__file__).parents[1] / "sample_inputs" / "tenders.csv"

Command = Callable[..., int]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Run the command line in a folder of its own and return its exit code."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> int:
        monkeypatch.setattr(sys, "argv", ["tender-pipeline", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            main()
        return int(exit_.value.code or 0)

    yield call
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "tenders.csv"
    path.write_text(
        "ref,description,title\n007,Road marking,Paint\n008,,\n009,Office chairs,Seat\n"
    )
    return path


def test_the_default_output_is_beside_a_manifest_in_outputs(command: Command, table: Path) -> None:
    assert command("run", table) == 0
    assert Path("outputs/tenders.classified.csv").is_file()
    assert Path("outputs/tenders.classified.csv.manifest.json").is_file()


def test_the_summary_goes_to_standard_output_and_the_rest_to_standard_error(
    tmp_path: Path, table: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "run", table, "--systems", "naics"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[1].split()[:2] == ["naics", "2"]
    assert done.stdout.splitlines()[-1] == "output: outputs/tenders.classified.csv"
    assert "embedded engine" in done.stderr


def test_json_is_the_only_thing_on_standard_output(
    command: Command, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("run", table, "--json", "--systems", "naics", "--min-confidence", 1) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["rows"] == 3
    assert figures["systems"]["naics"] == {
        "review": 2,
        "empty": 1,
        "failed": 0,
        "cost_usd": "0",
    }


def test_options_win_over_variables_and_variables_over_the_settings_file(
    command: Command, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("tender-pipeline.toml").write_text(
        'systems = ["psc", "naics"]\ntext-column = "title"\ncolumn-prefix = "file_"\ntop = 2\n'
    )
    monkeypatch.setenv("TENDER_PIPELINE_COLUMN_PREFIX", "variable_")
    monkeypatch.setenv("TENDER_PIPELINE_TEXT_COLUMN", "description,title")
    monkeypatch.setenv("TENDER_PIPELINE_TOP", "3")
    assert command("run", table, "--column-prefix", "option_") == 0
    manifest = json.loads(Path("outputs/tenders.classified.csv.manifest.json").read_text())
    settings = manifest["settings"]
    assert settings["systems"] == ["psc", "naics"]
    assert settings["text_columns"] == ["description", "title"]
    assert settings["column_prefix"] == "option_"
    assert settings["top"] == 3


def test_a_settings_file_can_be_named(command: Command, table: Path) -> None:
    Path("my.toml").write_text('systems = "psc"\noutput = "mine.csv"\n')
    assert command("run", table, "--config", "my.toml") == 0
    assert "psc_code" in Path("mine.csv").read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('sistems = "cpv"', "Did you mean 'systems'?"),
        ("systems = cpv", "Write it as TOML."),
        ("config = 1", "there is no setting 'config'"),
    ],
)
def test_a_wrong_settings_file_is_refused(
    command: Command, table: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    Path("tender-pipeline.toml").write_text(text)
    assert command("run", table) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "nowhere.csv"], "Give the path of a CSV or Parquet file."),
        (["run", "tenders.csv", "--text-column", "Descripton"], "Did you mean 'description'?"),
        (["run", "tenders.csv", "--systems", "cpv,ted"], "Choose from cpv, psc, unspsc, naics"),
        (["run", "tenders.csv", "--top", "99"], "from 1 to 10"),
        (["run", "tenders.csv", "--output", "tenders.csv", "--overwrite"], "is the input"),
        (["run", "tenders.csv", "--output", "out.xlsx"], "--output-format"),
        (["run"], "Missing argument"),
        (["run", "tenders.csv", "--sistems", "cpv"], "--systems"),
        (["codes", "show", "xyz"], "tender-pipeline codes search"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_to_do(
    command: Command,
    table: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    before = table.read_bytes()
    assert command(*arguments) == 2
    assert said in capsys.readouterr().err
    assert table.read_bytes() == before
    assert not Path("outputs").exists()


def test_standard_input_is_read_twice_all_the_same(
    command: Command, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = io.TextIOWrapper(io.BytesIO(gzip.compress(table.read_bytes())))
    monkeypatch.setattr(sys, "stdin", packed)
    assert command("run", "-", "--systems", "psc", "--output", "out.csv") == 0
    assert Path("out.csv").read_text().startswith("ref,description,title,psc_code")
    manifest = json.loads(Path("out.csv.manifest.json").read_text())
    assert manifest["input"]["path"] == "-"


def test_formats_follow_the_names_or_the_options(command: Command, table: Path) -> None:
    assert command("run", table, "--systems", "psc", "--output", "out.parquet") == 0
    assert pq.read_table("out.parquet")["ref"].to_pylist() == ["007", "008", "009"]
    assert command("run", table, "--systems", "psc", "--output-format", "parquet") == 0
    assert Path("outputs/tenders.classified.parquet").is_file()
    assert command("run", table, "--systems", "psc", "--output", "out.csv.gz") == 0
    assert gzip.decompress(Path("out.csv.gz").read_bytes()).startswith(b"ref,description")


def test_no_header_names_columns_by_their_place(command: Command, table: Path) -> None:
    arguments = ["--no-header", "--text-column", "2", "--systems", "psc", "--output", "out.csv"]
    assert command("run", table, *arguments) == 0
    first = Path("out.csv").read_text().splitlines()[0]
    assert first.startswith("ref,description,title,")
    assert "psc_code" not in first


def test_codes_lists_every_table_with_its_source_and_licence(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("codes") == 0
    out = capsys.readouterr().out
    for said in (
        "9,454 codes: 45 divisions",
        "CC BY 4.0",
        "25 categories, 172 groups, 2,344 codes",
        "57 segments, 546 families",
        "20 sectors",
        "NAICS 2022",
    ):
        assert said in out


def test_codes_show_places_a_code_in_its_tree(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("codes", "show", "45233140-2", "--languages") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "cpv 45233140  Roadworks  (subcategory)"
    assert lines[5] == "  in 45000000  Construction work  (division)"
    assert "     45233141  Road-maintenance works" in lines
    assert "  de  Straßenarbeiten" in lines


def test_codes_search_finds_titles_in_other_languages(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("codes", "search", "Straßenmarkierungen", "--systems", "cpv", "--top", 3) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].split()[1].startswith("349")


def test_python_m_pipeline_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("tender-pipeline, version ")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_with_its_code_and_no_litter(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    source = tmp_path / "many.csv"
    rows = "".join(f"{i},Road marking and traffic signs lot {i}\n" for i in range(200_000))
    source.write_text("id,description\n" + rows)
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", "run", str(source), "--systems", "naics"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    outputs = tmp_path / "outputs"
    while not (outputs.is_dir() and any(outputs.iterdir())):
        assert process.poll() is None
        time.sleep(0.01)  # until the real process is in the middle of its work
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert b"Traceback" not in err
    assert list(outputs.iterdir()) == []


def test_a_terminal_shows_a_bar(tmp_path: Path, table: Path) -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "run", str(table), "--systems", "psc"],
        cwd=tmp_path,
        stderr=theirs,
        stdout=subprocess.PIPE,
        check=True,
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert "3/3" in shown
    assert b"psc" in done.stdout
