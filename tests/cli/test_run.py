"""``tender-pipeline run`` as a user or a scheduler meets it."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pyarrow.parquet as pq
import pytest

from pipeline.classification.file_sink import FileSink
from pipeline.classification.sink import default_output
from pipeline.errors import OutputError
from pipeline.settings import Settings
from tests.classification.jobs import run, write_csv
from tests.cli.conftest import Capture, Command


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


@pytest.mark.parametrize("command_name", ["run", "plan"])
def test_terms_of_buying_without_a_service_are_refused_before_the_work(
    command: Command, table: Path, capsys: Capture, command_name: str
) -> None:
    assert command(command_name, table, "--wait", "--max-cost", 1, "--base-url", "") == 2
    said = capsys.readouterr().err
    assert "--max-cost and --wait are for buying answers, and no paid service is named." in said
    assert "Name the service, --base-url URL, or leave them out" in said
    assert not Path("outputs").exists()


def test_terms_of_buying_for_other_runs_and_consent_need_no_service(
    command: Command, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENDER_PIPELINE_MAX_COST", "1")
    Path("tender-pipeline.toml").write_text('rate = "5/min"\n')
    assert command("plan", table, "--yes") == 0


def test_a_warning_says_that_a_default_output_replaces_that_of_another_table(
    command: Command, table: Path, capsys: Capture
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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["run", "nowhere.csv"],
            "Give the path of a table: CSV, Parquet, JSON Lines, Excel, OCDS.",
        ),
        (["run", "tenders.csv", "--text-column", "Descripton"], "Did you mean 'description'?"),
        (["run", "tenders.csv", "--systems", "cpv,ted"], "Choose from cpv, psc, unspsc, naics"),
        (["run", "tenders.csv", "--top", "99"], "from 1 to 10"),
        (
            ["run", "tenders.csv", "--output", "tenders.csv", "--overwrite"],
            "--output and the input are the same file",
        ),
        (["run", "tenders.csv", "--output", "out.xls"], "--output-format"),
        (
            ["run", "tenders.csv", "--output", "out.parquet", "--output-format", "csv"],
            "The name 'out.parquet' says parquet, and --output-format says csv.",
        ),
        (["run", ""], "The path of INPUT is empty."),
        (["run", "tenders.csv", "--report", ""], "The path of --report is empty."),
        (["run", "tenders.csv", "--decisions", ""], "The path of --decisions is empty."),
        (["run", "tenders.csv", "--text-column", ""], "The name of --text-column is empty."),
        (["run", "tenders.csv", "--config", ""], "The path of --config is empty."),
        (["serve", "--data", ""], "The path of --data is empty."),
        (["codes", "add", "unspsc", ""], "The path of FILE is empty."),
        (["codes", "add", "cpv", "t.csv"], "Invalid value for 'unspsc': 'cpv' is not 'unspsc'."),
        (["run", "tenders.csv", "--top"], "See all options: tender-pipeline run --help."),
        (["evaluate", "", "--system", "cpv"], "The path of LABELLED is empty."),
        (["review", ""], "The path of OUTPUT is empty."),
        (["review", "a.csv", "b.csv"], "argument (b.csv)\nSee all options: "),
        (
            ["evaluate", "t.csv", "--system", "cpv", "--text-column", "a", "b"],
            "argument (b)\nIf it is the value of an option, repeat that: --text-column VALUE. See",
        ),
        (["train", "", "--system", "cpv", "--output", "m"], "The path of HISTORY is empty."),
        (["train", "t.csv", "--system", "cpv", "--output", ""], "The path of --output is empty."),
        (["run", "tenders.csv", "--output", "."], "Name a file in it: --output PATH."),
        (["run", "tenders.csv", "--config", "no.toml"], "no.toml cannot be read: No such file"),
        (["evalute"], "No such command 'evalute'. Did you mean 'evaluate'?\nSee all commands: "),
        (["xyz"], "No such command 'xyz'.\n"),
        ([""], "No such command ''.\n"),
        (["codes", "search", "qqxyzzy"], "No code fits 'qqxyzzy'."),
        (["codes", "serch", "road"], "Did you mean 'search'?"),
        (["codes", "search", "38421100-0"], "Show it: tender-pipeline codes show 38421100-0"),
        (["run", "tenders.csv", "--system", "cpv"], "--systems"),
        (["codes", "show", "xyz"], "tender-pipeline codes search"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_to_do(
    command: Command, table: Path, capsys: Capture, arguments: list[str], said: str
) -> None:
    before = table.read_bytes()
    assert command(*arguments) == 2
    assert said in capsys.readouterr().err
    assert table.read_bytes() == before
    assert not Path("outputs").exists()


def zipped(data: bytes, *names: str) -> bytes:
    packed = io.BytesIO()
    with ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, data)
    return packed.getvalue()


def test_several_tables_on_standard_input_are_refused(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    data = io.BytesIO(zipped(b"description\nPens\n", "a.csv", "b.csv"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    assert command("run", "-") == 2
    assert "Standard input has 2 tables: 'a.csv', 'b.csv'." in capsys.readouterr().err


@pytest.mark.parametrize("packed", [gzip.compress, lambda data: zipped(data, "in/tenders.csv")])
def test_standard_input_is_read_twice_like_a_file(
    command: Command,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    packed: Callable[[bytes], bytes],
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(packed(table.read_bytes())))
    monkeypatch.setattr(sys, "stdin", stream)
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


FULL = Settings(systems=("cpv",))
SAMPLE = Settings(systems=("cpv",), limit_rows=2)


def rows(output: Path) -> int:
    return len(output.read_text().splitlines()) - 1


def test_a_sample_in_the_place_of_a_full_table_wants_overwrite(
    command: Command, table: Path, capsys: Capture
) -> None:
    line = ["run", table, "--systems", "psc", "--output", "out.csv"]
    assert command(*line) == 0
    before = Path("out.csv").read_bytes()
    assert command(*line, "--limit-rows", 2) == 2
    assert "out.csv holds a full table, and this run writes a sample (--limit-rows)" in (
        capsys.readouterr().err
    )
    assert Path("out.csv").read_bytes() == before
    assert command(*line, "--limit-rows", 2, "--overwrite") == 0
    assert rows(Path("out.csv")) == 2
    assert command(*line, "--limit-rows", 1) == 0  # a sample may take a sample's place
    assert command(*line) == 0  # and the full table takes it back
    assert Path("out.csv").read_bytes() == before


def test_a_table_so_far_goes_when_it_is_complete_but_a_full_one_not_for_a_sample(
    tmp_path: Path,
) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    full, sample = (FileSink(output, "csv", sample=each).partial for each in (False, True))
    run(source, full.path, FULL)
    sample.discard()
    assert full.path.exists()
    with pytest.raises(OutputError, match="holds a full table"):
        sample.check()
    full.discard()
    for sink in (full, sample):
        assert not sink.path.exists()
        run(source, sink.path, SAMPLE)
        sink.discard()
    assert not sink.path.exists()


@pytest.mark.parametrize("limit", [0, 3, 1_000_000])
def test_the_name_of_a_sample_says_how_many_rows_were_asked_for(limit: int) -> None:
    place = default_output(Path("a/t.tsv.gz"), "csv", "csv", limit)
    assert place == Path(f"outputs/t.classified.sample-{limit}.tsv.gz")
    assert default_output(Path("a/t.csv"), "csv", "parquet", limit).suffix == ".parquet"
    assert default_output(Path("a/t.csv"), "csv", "csv", None) == Path("outputs/t.classified.csv")


@pytest.mark.parametrize(("output", "content"), [("o.json", "[]\n"), ("o.jsonl", "")])
def test_a_sample_of_no_rows_of_a_list_is_an_empty_list(
    command: Command, output: str, content: str
) -> None:
    Path("t.json").write_text('[{"description": "Desks"}]')
    arguments = ("--systems", "psc", "--limit-rows", 0)
    assert command("run", "t.json", *arguments, "--output", output) == 0
    assert Path(output).read_text() == content
