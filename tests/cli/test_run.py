"""The command line as a user or a scheduler meets it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pyarrow.parquet as pq
import pytest

from pipeline.cli import main
from pipeline.cli.app import COMMANDS, app
from pipeline.codes import titles_in
from pipeline.tables.csv_reader import CsvBatch, CsvReader
from tests.forking import Process, ran, shell

SAMPLE = Path(__file__).parents[2] / "sample_inputs" / "tenders.csv"

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
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "tenders.csv"
    path.write_text(
        "ref,description,title\n007,Road marking,Paint\n008,,\n009,Office chairs,Seat\n"
    )
    return path


def test_a_table_without_rows_is_warned_of(
    command: Command, table: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table.write_text("ref,description\n")
    assert command("run", table, "--systems", "psc") == 0
    assert f"{table} has no rows, so the output has none." in caplog.text
    caplog.clear()
    table.write_text("ref,description\n7,Pens\n")
    assert command("run", table, "--systems", "psc", "--limit-rows", 0) == 0
    assert "has no rows" not in caplog.text


def test_a_variable_that_sets_nothing_is_warned_of(
    command: Command,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("TENDER_PIPELINE_MAX_COSTS", "1")
    monkeypatch.setenv("TENDER_PIPELINE_SERVE_PORT", "8000")
    monkeypatch.setenv("TENDER_PIPELINE_DEBUG", "0")
    monkeypatch.setenv("TENDER_PIPELINE_BACK_OFF", "")
    assert command("plan", table) == 0
    said = capsys.readouterr().err + caplog.text
    assert "MAX_COSTS sets nothing. Did you mean TENDER_PIPELINE_MAX_COST?" in said
    assert said.count("sets nothing") == 1


@pytest.mark.parametrize("command_name", ["run", "plan"])
def test_terms_of_buying_without_a_service_are_refused_before_the_work(
    command: Command, table: Path, capsys: pytest.CaptureFixture[str], command_name: str
) -> None:
    assert command(command_name, table, "--wait", "--max-cost", 1, "--base-url", "") == 2
    said = capsys.readouterr().err
    assert "--max-cost, --wait are for buying answers, and no paid service is named." in said
    assert "Name the service, --base-url URL, or leave them out" in said
    assert not Path("outputs").exists()


def test_terms_of_buying_for_other_runs_and_consent_need_no_service(
    command: Command, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENDER_PIPELINE_MAX_COST", "1")
    Path("tender-pipeline.toml").write_text('rate = "5/min"\n')
    assert command("plan", table, "--yes") == 0


def test_a_wrong_value_that_is_not_on_the_command_line_is_told_with_its_place(
    command: Command,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command("plan", table, "--top", "x") == 2
    assert capsys.readouterr().err.endswith("'x' is not a valid integer.\n")
    Path("tender-pipeline.toml").write_text('engine = "best"\n')
    assert command("plan", table) == 2
    assert capsys.readouterr().err.endswith("'lexical'. It comes from tender-pipeline.toml.\n")
    monkeypatch.setenv("TENDER_PIPELINE_BACK_OFF", "x")
    assert command("plan", table, "--engine", "lexical") == 2
    said = capsys.readouterr().err
    assert said.endswith("float. It comes from the variable TENDER_PIPELINE_BACK_OFF.\n")
    assert command("plan", table, "--engine", "lexical", "--json") == 2
    assert "variable TENDER_PIPELINE_BACK_OFF." in json.loads(capsys.readouterr().out)["error"]
    monkeypatch.setenv("TENDER_PIPELINE_SERVE_PORT", "x")
    assert command("serve") == 2
    said = capsys.readouterr().err
    assert said.endswith("range. It comes from the variable TENDER_PIPELINE_SERVE_PORT.\n")


def test_the_default_output_is_beside_a_manifest_in_outputs(command: Command, table: Path) -> None:
    assert command("run", table) == 0
    assert Path("outputs/tenders.classified.csv").is_file()
    assert Path("outputs/tenders.classified.csv.manifest.json").is_file()


def test_it_is_told_if_an_output_without_a_name_replaces_that_of_another_table(
    command: Command, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = table.parent / "2024" / table.name
    other.parent.mkdir()
    shutil.copy(table, other)
    named = Path("outputs") / "tenders.classified.csv"
    told = f"Warning: {named}, made from {table}, is replaced. Keep both: --output PATH."
    for path, replaces in ((table, False), (table, False), (other, True), (other, False)):
        assert command("run", path, "--systems", "psc") == 0
        assert (told in capsys.readouterr().err) == replaces
    assert command("run", table, "--systems", "psc", "--output", named) == 0
    assert "is replaced" not in capsys.readouterr().err, "its name was typed"


def test_the_summary_goes_to_standard_output_and_the_rest_to_standard_error(
    tmp_path: Path, table: Path
) -> None:
    done = ran(["run", table, "--systems", "naics"], cwd=tmp_path)
    assert done.returncode == 0
    name, ok, review, empty, _ = done.stdout.splitlines()[1].split()
    assert (name, int(ok) + int(review), empty) == ("naics", 2, "1")
    assert "output: outputs/tenders.classified.csv" in done.stdout.splitlines()
    assert "embedded engine" in done.stderr


def test_json_is_the_only_thing_on_standard_output(
    command: Command, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("run", table, "--json", "--systems", "naics", "--min-confidence", 1) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["rows"] == 3
    assert 0 < figures["systems"]["naics"].pop("median_confidence") < 1
    assert figures["systems"]["naics"] == {
        "ok": 0,
        "no_match": 0,
        "decided": 0,
        "review": 2,
        "empty": 1,
        "pending": 0,
        "failed": 0,
        "cost_usd": "0",
    }


@pytest.mark.parametrize("name", ["run", "plan"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["TABLE", "--text-column", "nope"], "no column 'nope'"),
        (["nothere.csv"], "nothere.csv does not exist"),
        (["TABLE", "--nope"], "--nope"),
        (["TABLE", "--top", "many"], "--top"),
        (["TABLE", "--top", "99"], "top is 99."),
        ([], "INPUT"),
    ],
)
def test_an_error_is_json_too_and_told_to_people_all_the_same(
    name: str, arguments: list[str], said: str, table: Path
) -> None:
    words = [str(table) if word == "TABLE" else word for word in arguments]
    done = ran([name, *words, "--json"], cwd=table.parent)
    figures = json.loads(done.stdout)
    assert set(figures) == {"error", "hint", "exit_code"}
    assert said in figures["error"]
    assert figures["hint"]
    assert figures["exit_code"] == done.returncode == 2
    assert said in done.stderr


def test_columns_without_words_are_told_with_the_likeliest_and_may_fail_the_run(
    tmp_path: Path,
) -> None:
    rows = [f"{place},UK-{place:04},City of London,Road marking {place}" for place in range(9)]
    (tmp_path / "in.csv").write_text("\n".join(["id,ref,buyer,title", *rows]) + "\n")
    options = ["--text-column", "id", "--systems", "cpv", "--output", "out.csv"]
    environment = {**os.environ, "TENDER_PIPELINE_FAIL_IF_NO_MATCH": "0.5"}
    done = ran(["run", "in.csv", *options], cwd=tmp_path, env=environment)
    assert "'id' holds hardly any words: 9 of 9 rows" in done.stderr
    assert "Did you mean --text-column 'title'?" in done.stderr
    assert "Too many rows have no match: 9 of 9 rows (cpv)." in done.stderr
    assert done.returncode == 3
    assert (tmp_path / "out.csv").is_file()


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
    Path("my.toml").write_text('systems = "psc"\noutput = "mine.csv"\njobs = "auto"\n')
    assert command("run", table, "--config", "my.toml") == 0
    assert "psc_code" in Path("mine.csv").read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('sistems = "cpv"', "Did you mean 'systems'?"),
        ("systems = cpv", "Write it as TOML."),
        ("config = 1", "a settings file cannot name another one"),
        ("qqqq = 1", "Choose from output, systems, text-column, top"),
        ("[run]\ntop = 2", "Delete the line [run]"),
        ("top = inf", "tender-pipeline.toml: top is inf.\nIt must be a whole number."),
        ("top = 2.5", "top is 2.5.\nIt must be a whole number."),
        ("top = true", "top is true.\nIt must be a whole number."),
        ("top = 1979-05-27", "top is 1979-05-27.\nIt must be a whole number."),
        ('top = "2"', "top is '2'.\nIt must be a whole number."),
        ('jobs = "all"', "jobs is 'all'.\nIt must be a whole number, or \"auto\" in quotes."),
        ("jobs = 2.5", "It must be a whole number, or"),
        ("limit-rows = inf", "It must be a whole number."),
        ("limit-rows = 99999999999999999999", "limit_rows must be a whole number"),
        ("min-confidence = true", "It must be a number."),
        ("output = 5", "output is 5.\nIt must be text, in quotes."),
        ("output = [1]", "It must be text, in quotes."),
        ("column_prefix = 1", "column_prefix is 1.\nIt must be text, in quotes."),
        ("text-column = {a = 1}", "It must be a name or a list of names."),
        ("text-column = [1]", "It must be a name or a list of names."),
        ("systems = [1]", "It must be a name or a list of names."),
        ("systems = []", "No system is chosen."),
        ('systems = "ted"', "naics (--systems). --systems comes from tender-pipeline.toml."),
        ('delimiter = "ab"', "--delimiter comes from tender-pipeline.toml."),
        ('text-column = "nope"', "--text-column comes from tender-pipeline.toml."),
        ("no_header = 3", "no_header is 3.\nIt must be true or false."),
        ("json = []", "It must be true or false."),
        ('encoding = "a\\u0000"', "Python knows no text encoding"),
    ],
)
def test_a_wrong_settings_file_is_refused(
    command: Command, table: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    Path("tender-pipeline.toml").write_text(text)
    assert command("run", table) == 2
    assert said in capsys.readouterr().err


def test_a_settings_file_that_is_not_there_is_said_to_be_missing(
    command: Command, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("run", table, "--config", "no.toml") == 2
    said = capsys.readouterr().err
    assert "no.toml cannot be read: No such file or directory.\nName another file" in said


def test_an_error_says_where_an_option_was_set_that_nobody_typed(
    command: Command,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("tender-pipeline.toml").write_text("explain = true\n")
    monkeypatch.setenv("TENDER_PIPELINE_BASE_URL", "http://localhost:9")
    assert command("plan", table) == 2
    said = capsys.readouterr().err
    assert "Remove --explain, or the service (--base-url)." in said
    assert "--explain comes from tender-pipeline.toml." in said
    assert "--base-url comes from the variable TENDER_PIPELINE_BASE_URL." in said
    assert command("plan", table, "--explain", "--base-url", "http://localhost:9") == 2
    assert "comes from" not in capsys.readouterr().err


def test_an_empty_text_in_the_settings_file_means_unset(command: Command, table: Path) -> None:
    names = ("output", "systems", "text-column", "top", "encoding", "no-header", "json")
    Path("tender-pipeline.toml").write_text("".join(f'{name} = ""\n' for name in names))
    assert command("run", table) == 0
    assert "naics_code" in Path("outputs/tenders.classified.csv").read_text()


def test_numbers_and_flags_may_stand_in_the_settings_file(command: Command, table: Path) -> None:
    Path("tender-pipeline.toml").write_text(
        'min-confidence = 1\nlimit-rows = 2\noverwrite = true\nsystems = ["psc"]\n'
    )
    assert command("run", table, "--output", table.with_name("out.csv")) == 0
    lines = Path("out.csv").read_text().splitlines()
    assert len(lines) == 3
    assert ",review," in lines[1]


@pytest.mark.parametrize(
    "way", ["--roll-up", "--back-off", "ROLL_UP", "BACK_OFF", "roll-up", "back_off"]
)
def test_roll_up_has_its_old_name_as_option_variable_and_setting(
    command: Command, table: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    options = [way, "0.9"] if way.startswith("--") else []
    if way.isupper():
        monkeypatch.setenv(f"TENDER_PIPELINE_{way}", "0.9")
    elif not options:
        Path("tender-pipeline.toml").write_text(f"{way} = 0.9\n")
    assert command("run", table, "--systems", "psc", *options) == 0
    manifest = json.loads(Path("outputs/tenders.classified.csv.manifest.json").read_text())
    assert manifest["settings"]["roll_up"] == 0.9


def test_names_in_a_variable_may_have_spaces_and_a_last_comma(
    command: Command, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENDER_PIPELINE_TEXT_COLUMN", " title , description, ")
    assert command("run", table, "--systems", "psc") == 0
    manifest = json.loads(Path("outputs/tenders.classified.csv.manifest.json").read_text())
    assert manifest["settings"]["text_columns"] == ["title", "description"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "nowhere.csv"], "Give the path of a table: CSV, Excel, JSON Lines or Parquet."),
        (["run", "tenders.csv", "--text-column", "Descripton"], "Did you mean 'description'?"),
        (["run", "tenders.csv", "--systems", "cpv,ted"], "Choose from cpv, psc, unspsc, naics"),
        (["run", "tenders.csv", "--top", "99"], "from 1 to 10"),
        (["run", "tenders.csv", "--output", "tenders.csv", "--overwrite"], "is the input"),
        (["run", "tenders.csv", "--output", "out.xls"], "--output-format"),
        (
            ["run", "tenders.csv", "--output", "out.parquet", "--output-format", "csv"],
            "The name 'out.parquet' says parquet, and --output-format says csv.",
        ),
        (["run"], "Missing argument"),
        (["run", ""], "The path of INPUT is empty."),
        (["run", "tenders.csv", "--report", ""], "The path of --report is empty."),
        (["evaluate", "", "--system", "cpv"], "The path of LABELLED is empty."),
        (["review", ""], "The path of OUTPUT is empty."),
        (["train", "", "--system", "cpv", "--output", "m"], "The path of HISTORY is empty."),
        (["train", "t.csv", "--system", "cpv", "--output", ""], "The path of --output is empty."),
        (["run", "tenders.csv", "--output", "."], "Name a file in it: --output PATH."),
        (["run", "tenders.csv", "--config", "no.toml"], "no.toml cannot be read: No such file"),
        (["evalute"], "No such command 'evalute'. Did you mean 'evaluate'?"),
        (["tenders.csv"], "To classify that: tender-pipeline run tenders.csv"),
        (["xyz"], "No such command 'xyz'.\n"),
        ([""], "No such command ''.\n"),
        (["codes", "search", "qqxyzzy"], "No code fits 'qqxyzzy'."),
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


def test_an_input_whose_name_lies_needs_no_output(command: Command, table: Path) -> None:
    table.write_text('{"description": "road works"}\n')
    formats = ["--input-format", "jsonl", "--output-format", "jsonl"]
    assert command("run", table, "--systems", "psc", *formats) == 0
    assert Path("outputs/tenders.classified.csv").read_text().startswith('{"description":')


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


def test_codes_show_says_when_a_code_was_retired_and_what_replaced_it(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("codes", "show", "d302") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "psc D302  retired, last day 2020-10-29; now DA01:"
    assert lines[1].startswith("psc DA01  IT and telecom")
    assert command("codes", "show", "D304") == 0
    assert "no single code is known to replace it" in capsys.readouterr().out
    assert command("codes", "show", "1810") == 0
    out = capsys.readouterr().out
    assert out.startswith("cpv 18100000")
    assert "psc 1810  retired, last day 2015-09-30; now 1555:" in out


def test_codes_show_places_a_code_in_its_tree(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("codes", "show", "45233140-2", "--languages") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "cpv 45233140  Roadworks  (subcategory)"
    assert lines[5] == "  in 45000000  Construction work  (division)"
    assert "     45233141  Road-maintenance works" in lines
    assert "  de  Straßenarbeiten" in lines
    assert "  like naics 237310  Highway, Street, and Bridge Construction" in lines


def test_titles_are_in_the_language_that_is_asked_for(
    command: Command,
    table: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    systems = ("--systems", "cpv,psc", "--top", 2)
    assert command("run", table, *systems, "--output", "en.csv") == 0
    assert "cpv titles" not in caplog.text
    assert command("run", table, *systems, "--output", "de.csv", "--language", "DE") == 0
    said = "cpv titles in German; psc titles in English, because there are no others"
    assert said in caplog.text
    with Path("en.csv").open() as english, Path("de.csv").open() as german:
        rows = list(zip(csv.DictReader(english), csv.DictReader(german), strict=True))
    for before, after in rows:
        matches = [match["title"] for match in json.loads(after["cpv_matches"] or "[]")]
        codes = [match["code"] for match in json.loads(after["cpv_matches"] or "[]")]
        assert matches == [titles_in("de")[code] for code in codes]
        assert after["cpv_title"] == next(iter(matches), "")
        changed = {"cpv_title", "cpv_matches"}
        assert {name: before[name] for name in before.keys() - changed} == {
            name: after[name] for name in after.keys() - changed
        }
    assert json.loads(Path("de.csv.manifest.json").read_text())["settings"]["language"] == "de"
    assert command("run", table, *systems, "--output", "de.csv", "--language", "tlh") == 2
    assert "There are no titles in the language 'tlh'." in capsys.readouterr().err
    assert command("codes", "show", "45233140", "--language", "fr") == 0
    assert capsys.readouterr().out.startswith("cpv 45233140  Travaux routiers")
    assert command("codes", "search", "road", "--language", "xx") == 2


def test_codes_search_finds_titles_in_other_languages(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("codes", "search", "Straßenmarkierungen", "--systems", "cpv", "--top", 3) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].split()[1].startswith("349")


def test_codes_search_finds_codes_by_words_that_their_titles_lack(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, system, code in (("laptop", "cpv", "30213100"), ("Reinigung", "unspsc", "76110000")):
        assert command("codes", "search", words, "--systems", system) == 0
        assert capsys.readouterr().out.split()[1] == code


def test_codes_search_leaves_out_titles_that_only_have_letters_in_common(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("codes", "search", "wheat", "--systems", "naics") == 0
    assert capsys.readouterr().out.split()[2:] == ["Wheat", "Farming"]


def test_python_m_pipeline_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("tender-pipeline, version ")


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
    code, out, err = shell(line, tmp_path, forked="full" not in line and "<&-" not in line)
    assert code == 0, err
    assert said in err
    assert "Traceback" not in err and "Exception ignored" not in err and "Error" not in err
    assert "--- Logging error" not in err
    if "2>&-" in line and ">&- 2>&-" not in line:
        assert "output: outputs/tenders.classified.csv" in out
    enriched = (tmp_path / "outputs" / "tenders.classified.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in enriched] == ["ref", "007", "008", "009"]
    assert (tmp_path / "outputs" / "tenders.classified.csv.manifest.json").is_file()


def test_closed_standard_input_is_an_error_that_says_so(tmp_path: Path) -> None:
    code, _, err = shell("tender-pipeline run - <&-", tmp_path)
    assert code == 2
    assert "Standard input is closed." in err


@pytest.mark.parametrize("what", ["search road --top 50", "show 45000000 --languages", ""])
def test_codes_may_be_cut_short(tmp_path: Path, what: str) -> None:
    assert shell(f"tender-pipeline codes {what} | true", tmp_path) == (0, "", "")


def test_codes_that_cannot_be_printed_are_an_error(tmp_path: Path) -> None:
    line = "tender-pipeline codes show 45000000 >/dev/full"
    code, _, err = shell(line, tmp_path, forked=False)
    assert code == 2
    assert err.startswith("Error: Standard output cannot be written to")
    assert "Traceback" not in err


def test_an_error_that_nobody_can_read_has_its_exit_code(tmp_path: Path) -> None:
    for line in ("tender-pipeline run nowhere.csv", "tender-pipeline run --nothing"):
        assert shell(f"{line} 2>/dev/full", tmp_path, forked=False) == (2, "", "")


def test_a_damaged_added_table_does_not_hide_the_others(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    added = tmp_path / "tender-pipeline" / "codes" / "unspsc.parquet"
    added.parent.mkdir(parents=True)
    added.write_bytes(b"torn")
    assert command("codes", "show", "45000000") == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("cpv 45000000  Construction work")
    assert "Warning: The added table" in shown.err
    assert "codes remove unspsc" in shown.err
    assert command("codes") == 0
    assert "naics" in capsys.readouterr().out


INTERRUPTED_IMPORT = """
import os, signal, sys
import pipeline.cli

class Interrupt:
    def find_spec(self, name, *more):
        if name == INTERRUPTED:
            os.kill(os.getpid(), signal.SIGINT)

INTERRUPTED = sys.argv.pop()
sys.meta_path.insert(0, Interrupt())
pipeline.cli.main()
"""


@pytest.mark.parametrize(
    "module", ["click", "pipeline.cli.app", "pipeline.cli.commands.run", "pyarrow"]
)
def test_an_interrupt_while_something_is_imported_ends_the_process_at_once(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, "run", "in.csv", module],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "Interrupted; no output was written.\n")


def test_an_interrupt_that_is_ignored_stays_ignored_while_something_is_imported() -> None:
    code = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{INTERRUPTED_IMPORT}"
    command = [sys.executable, "-c", code, "--version", "pipeline.cli.app"]
    assert subprocess.run(command, capture_output=True, check=True).stdout


def test_an_interrupt_after_the_end_does_not_change_the_exit_code(tmp_path: Path) -> None:
    code = (
        "import atexit, os, signal, pipeline.cli\n"
        "class Last:\n"
        "    def __del__(self, kill=os.kill, me=os.getpid()): kill(me, signal.SIGINT)\n"
        "last = Last()\n"
        "pipeline.cli.main()"
    )
    command = [sys.executable, "-c", code, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_a_process_calls_what_is_due_at_its_end_and_frees_nothing() -> None:
    code = (
        "import atexit, sys, pipeline.cli as cli\n"
        "class Freed:\n"
        "    def __del__(self): print('freed')\n"
        "freed = Freed()\n"
        "cli.main = lambda: (atexit.register(print, 'last'), sys.exit(3))\n"
        "cli.program()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, "last\n", "")


def test_the_list_of_commands_needs_none_of_them_and_says_what_they_say() -> None:
    heavy = "{'pandas', 'pyarrow', 'numpy', 'scipy', 'httpx', 'aiohttp'} & set(sys.modules)"
    code = (
        f"import atexit, sys; atexit.register(lambda: print({heavy})); sys.argv[1:] = ['-h']\n"
        "from pipeline.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *shown, imported = done.stdout.splitlines()
    assert imported == "set()"
    width = max(map(len, COMMANDS)) + 2
    for name, (_, said) in COMMANDS.items():
        assert f"  {name:<{width}}{said}" in shown
        command = app.get_command(click.Context(app), name)
        assert command is not None
        assert command.short_help == said


IMPORTED = """
import contextlib, io, json, sys
from pipeline.cli import main

def run(*args):
    sys.argv[1:] = ["run", *args]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main()
    return [*sys.modules]

helped = run("--help")
import pipeline.cli.many
started = [*sys.modules]
print(json.dumps([helped, started, run(SOURCE, "--systems", "naics", "--output", OUTPUT)]))
"""

NOT_FOR_HELP = {"numpy", "logging", "tempfile", "tomllib", "difflib", "hashlib", "html"}
NOT_FOR_THE_ENGINE = {"pandas", "scipy", "httpx", "aiohttp", "asyncio", "ssl", "sqlite3", "jinja2"}
NOT_WITHOUT_PARQUET = {"pyarrow.parquet", "pyarrow.fs", "pyarrow.compute", "importlib.metadata"}


def test_a_run_imports_only_what_it_uses(tmp_path: Path) -> None:
    """Half of a short run is imports."""
    (tmp_path / "in.csv").write_text("description\nRoad works\n")
    places = {"SOURCE": str(tmp_path / "in.csv"), "OUTPUT": str(tmp_path / "out.csv")}
    code = "\n".join(f"{name} = {place!r}" for name, place in places.items()) + IMPORTED
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    helped, started, ran = map(set, json.loads(done.stdout))
    assert (tmp_path / "out.csv").exists()
    assert not helped & (NOT_FOR_HELP | NOT_FOR_THE_ENGINE)
    assert "pipeline.engine" in ran - started  # a purchase needs no engine
    assert not ran & (NOT_FOR_THE_ENGINE | NOT_WITHOUT_PARQUET)


def test_nohup_is_heeded() -> None:
    code = (
        "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); sys.argv[1:] = ['-h'];"
        "import atexit; atexit.register(lambda: print(signal.getsignal(signal.SIGHUP).name));"
        "from pipeline.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "SIG_IGN"


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, b"Interrupted; no output was written.\n"),
        (signal.SIGTERM, 143, b"Terminated; no output was written.\n"),
        (signal.SIGHUP, 129, b"Hung up; no output was written.\n"),
    ],
)
def test_a_signal_ends_the_run_with_its_code_and_no_litter(
    tmp_path: Path, number: signal.Signals, code: int, said: bytes
) -> None:
    source = tmp_path / "many.csv"
    rows = "".join(f"{i},Road marking and traffic signs lot {i}\n" for i in range(200_000))
    source.write_text("id,description\n" + rows)
    process = Process(
        ["run", source, "--systems", "naics"],
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
    assert err.endswith(said)
    assert b"Traceback" not in err
    assert list(outputs.iterdir()) == []


def test_a_terminal_shows_a_bar(tmp_path: Path, table: Path) -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    done = ran(["run", table, "--systems", "psc"], cwd=tmp_path, stderr=theirs)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.returncode == 0, shown
    assert "3/3" in shown
    assert "psc" in done.stdout


def test_a_report_is_written_and_compares_with_the_run_before(
    command: Command, caplog: pytest.LogCaptureFixture
) -> None:
    Path("t.csv").write_text("description\nroad works\nschool meals\n")
    options = ("run", "t.csv", "--systems", "cpv", "--output", "o.csv", "--report", "r.html")
    assert command(*options) == 0
    assert "report: r.html" in caplog.messages
    first = Path("r.html").read_text("utf-8")
    assert "t.csv" in first
    assert "Since the last run" not in first
    Path("t.csv").write_text("description\nroad works\nschool meals\nschool bus\n")
    assert command(*options) == 0
    second = Path("r.html").read_text("utf-8")
    assert '<td class="n">2</td><td class="n">3</td>' in second
    assert "<dt>New rows</dt><dd>1</dd>" in second
    assert "<dt>Rows with another code</dt><dd>0</dd>" in second
    Path("o.csv").write_text("description,cpv_code\nroad works,1\n")
    Path("t.csv").write_text("description\nroad works\n")
    assert command(*options, "--overwrite") == 0
    assert "The rows are not compared" in Path("r.html").read_text("utf-8")


def test_a_report_compares_the_tables_of_ocds_releases(command: Command) -> None:
    for titles in (["road works"], ["road works", "school bus"]):
        releases = [{"ocid": title, "id": "1", "tender": {"title": title}} for title in titles]
        Path("t.json").write_text(json.dumps({"releases": releases}))
        options = ("--systems", "cpv", "--output", "o.csv", "--report", "r.html")
        assert command("run", "t.json", *options) == 0
    assert "<dt>New rows</dt><dd>1</dd>" in Path("r.html").read_text("utf-8")


def test_a_report_replaces_no_file_of_somebody_else_and_is_a_page(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("t.csv").write_text("description\nroad works\n")
    Path("r.html").write_text("my own")
    assert command("run", "t.csv", "--output", "o.csv", "--report", "r.html") == 2
    assert "r.html exists, and this tool did not write it." in capsys.readouterr().err
    assert not Path("o.csv").exists()
    assert Path("r.html").read_text() == "my own"
    assert command("run", "t.csv", "--output", "o.csv", "--report", "r.csv") == 2
    assert "r.csv does not end in .html" in capsys.readouterr().err
    assert not Path("o.csv").exists()


def test_an_interrupt_while_the_report_is_written_does_not_deny_the_output(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr("pipeline.cli.output.report.RunReport.write", interrupted)
    Path("t.csv").write_text("description\nroad works\n")
    options = ("--systems", "psc", "--output", "o.csv", "--report", "r.html")
    assert command("run", "t.csv", *options) == 130
    said = capsys.readouterr().err
    assert "Interrupted; the output was written, but not the report." in said
    assert Path("o.csv").exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--preset", "sam"], ["Road marking. Paint", "Chairs"]),
        (["--preset", "sam", "--text-column", "Description"], ["Paint", ""]),
        (["--preset", "ted"], ["Works", "Furniture"]),
    ],
)
def test_a_preset_knows_the_text_columns(
    command: Command, monkeypatch: pytest.MonkeyPatch, options: list[str], text: list[str]
) -> None:
    Path("t.csv").write_text(
        "NoticeId,Title,Description,TITLE\n1,Road marking,Paint,Works\n2,Chairs,,Furniture\n"
    )
    seen: list[str] = []
    read = CsvReader.batches

    def batches(reader: CsvReader) -> Iterator[CsvBatch]:
        for batch in read(reader):
            seen.extend(batch.texts)
            yield batch

    monkeypatch.setattr(CsvReader, "batches", batches)
    assert command("run", "t.csv", "--systems", "psc", "--engine", "lexical", *options) == 0
    assert seen[:2] == text
