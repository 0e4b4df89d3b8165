"""A sample (--limit-rows) has a name of its own and takes the place of no full table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.classification.file_sink import FileSink
from pipeline.classification.provenance import manifest_path
from pipeline.classification.sink import default_output
from pipeline.errors import OutputError
from pipeline.settings import Settings
from tests.classification.jobs import run, write_csv
from tests.cli.conftest import Capture, Command

FULL = Settings(systems=("cpv",))
SAMPLE = Settings(systems=("cpv",), limit_rows=2)


def rows(output: Path) -> int:
    return len(output.read_text().splitlines()) - 1


def test_a_sample_is_written_beside_the_full_table(command: Command, table: Path) -> None:
    assert command("run", table, "--systems", "psc") == 0
    full = Path("outputs/tenders.classified.csv")
    before = full.read_bytes()
    assert command("run", table, "--systems", "psc", "--limit-rows", 2) == 0
    assert full.read_bytes() == before
    assert rows(Path("outputs/tenders.classified.sample-2.csv")) == 2
    manifest = manifest_path(Path("outputs/tenders.classified.sample-2.csv"))
    assert json.loads(manifest.read_text())["settings"]["limit_rows"] == 2


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
