"""Several files: one job each, the same layout, done ones skipped, the worst exit code."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.classification.job import Job
from tests.cli.conftest import Capture, Command
from tests.cli.several_files import files_in, run, states


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a partitioned dataset, with files beside it that are no tables."""
    folder = tmp_path / "data"
    for year, name in (("2023", "Roads"), ("2024", "Chairs")):
        (folder / f"year={year}").mkdir(parents=True)
        pq.write_table(pa.table({"description": [name]}), folder / f"year={year}" / "p.parquet")
    (folder / "more.jsonl").write_text('{"description": "Pens"}\n')
    beside = ("more.jsonl.manifest.json", "more.jsonl.decisions.jsonl")
    for name in ("_SUCCESS", ".part.csv", "~$more.xlsx", "notes.md", *beside):
        (folder / name).write_text("description\nno\n")
    return folder


TABLES = ["more.jsonl", "year=2023/p.parquet", "year=2024/p.parquet"]


def test_a_folder_becomes_a_folder_of_the_same_layout(
    command: Command, data: Path, capsys: Capture
) -> None:
    code, figures = run(command, capsys, "data")
    assert code == 0
    assert files_in(Path("outputs/data.classified")) == TABLES
    assert [Path(file["input"]).relative_to("data") for file in figures["files"]] == [
        Path(name) for name in TABLES
    ]
    assert figures["done"] == figures["summary"]["rows"] == 3
    assert figures["summary"]["systems"]["psc"]["empty"] == 0
    table = pq.read_table("outputs/data.classified/year=2023/p.parquet", partitioning=None)
    assert table.column_names[:2] == ["description", "psc_code"]


def test_outputs_of_earlier_runs_in_a_folder_are_not_inputs(
    command: Command, data: Path, capsys: Capture
) -> None:
    code, _ = run(command, capsys, "data/more.jsonl", "--output", "data/coded.jsonl")
    assert code == 0
    run(command, capsys, "data")
    assert files_in(Path("outputs/data.classified")) == TABLES


def test_an_archive_in_a_folder_counts_as_its_table(
    command: Command, data: Path, capsys: Capture
) -> None:
    members = {
        "a.csv.zip": ("in.csv.gz", gzip.compress(b"description\nPens\n")),
        "b.zip": ("in.jsonl", b'{"description": "Pens"}\n'),
        "maps.zip": ("roads.shp", b"no table"),
    }
    for name, (member, content) in members.items():
        with ZipFile(data / name, "w") as archive:
            archive.writestr(member, content)
    (data / "broken.zip").write_bytes(b"PK\x03\x04")
    code, figures = run(command, capsys, "data", "--output", "out")
    assert code == 2
    assert files_in(Path("out")) == sorted([*TABLES, "a.csv.gz", "b.jsonl"])
    (failed,) = (file for file in figures["files"] if file["state"] == "failed")
    assert "broken.zip cannot be unpacked" in failed["error"]
    (data / "broken.zip").unlink()
    code, figures = run(command, capsys, "data", "--output", "out")
    assert (code, states(figures)) == (0, ["skipped"] * 5)


def test_a_pattern_and_paths_keep_their_layout_below_the_fixed_part(
    command: Command, data: Path, capsys: Capture
) -> None:
    more = data / "more.jsonl"
    (data / "year=2023" / "~$p.xlsx").write_text("of an open workbook")
    code, _ = run(command, capsys, "data/year=*/*", more, more, "--output", "out")
    assert code == 0
    assert files_in(Path("out")) == TABLES


def test_another_format_has_its_suffix(command: Command, data: Path, capsys: Capture) -> None:
    run(command, capsys, "data", "--output", "data/out", "--output-format", "jsonl")
    expected = ["more.jsonl", "year=2023/p.jsonl", "year=2024/p.jsonl"]
    assert files_in(Path("data/out")) == expected
    run(command, capsys, "data", "--output", "data/out", "--output-format", "jsonl")
    assert files_in(Path("data/out")) == expected  # the outputs are not inputs


def test_files_that_are_done_are_skipped_and_changed_ones_are_done_again(
    command: Command, data: Path, capsys: Capture
) -> None:
    run(command, capsys, "data")
    outputs = [Path("outputs/data.classified") / name for name in TABLES]
    before = [output.stat().st_ino for output in outputs]
    code, figures = run(command, capsys, "data")
    assert (code, states(figures)) == (0, ["skipped"] * 3)
    assert figures["summary"] is None
    assert [output.stat().st_ino for output in outputs] == before

    with (data / "more.jsonl").open("a") as file:
        file.write('{"description": "Ink"}\n')
    assert states(run(command, capsys, "data")[1]) == ["done", "skipped", "skipped"]
    assert len(outputs[0].read_text().splitlines()) == 2

    outputs[1].unlink()
    assert states(run(command, capsys, "data")[1]) == ["skipped", "done", "skipped"]
    assert states(run(command, capsys, "data", "--top", "2")[1]) == ["done"] * 3
    manifest = Path(f"{outputs[2]}.manifest.json")
    manifest.write_text(
        manifest.read_text().replace('"tender-pipeline": "', '"tender-pipeline": "9')
    )
    assert states(run(command, capsys, "data", "--top", "2")[1]) == ["skipped", "skipped", "done"]


def test_a_killed_run_continues_after_the_last_file(
    command: Command, data: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Job.run

    def killed(job: Any, progress: Any) -> Any:
        if "2023" in str(job.source.path):
            raise SystemExit(143)
        return whole(job, progress)

    monkeypatch.setattr(Job, "run", killed)
    assert command("run", "data", "--systems", "psc") == 143
    assert (
        "Terminated; 1 of 3 files are done, and the same command continues.\n"
        in capsys.readouterr().err
    )
    monkeypatch.setattr(Job, "run", whole)
    assert states(run(command, capsys, "data")[1]) == ["skipped", "done", "done"]


def test_a_bad_file_does_not_stop_the_others_and_the_worst_exit_code_is_that_of_the_run(
    command: Command, data: Path, capsys: Capture
) -> None:
    (data / "empty.csv").write_bytes(b"")
    (data / "ragged.csv").write_text("description\na,b\n")
    code = command("run", "data", "--systems", "psc")
    captured = capsys.readouterr()
    assert code == 2
    assert "data/ragged.csv, line 2: 2 fields where 1 is expected." in captured.err
    assert captured.out.splitlines()[-1] == "5 files: 3 done, 2 failed"
    assert "data/empty.csv is empty." in captured.out
    assert files_in(Path("outputs/data.classified")) == TABLES
    code, figures = run(command, capsys, "data", fail_if_no_match=0)
    assert code == 2
    assert figures["failed"] == 2
    assert figures["files"][0]["error"].endswith("empty.csv is empty.")


def test_links_out_of_a_folder_and_other_files_are_skipped_and_named(
    command: Command, data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "secret.csv").write_text("description\nSecret\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "o.csv").write_text("description\nOther\n")
    (data / "out.csv").symlink_to(tmp_path / "secret.csv")
    (data / "folder").symlink_to(tmp_path / "other")
    (data / "loop").symlink_to(data)
    (data / "ReadMe.txt").write_text("From the portal.\n")
    assert command("run", "data", "--systems", "psc") == 0
    skipped = "'data/folder', 'data/loop', 'data/ReadMe.txt', 'data/notes.md', 'data/out.csv'"
    assert skipped in caplog.text
    assert files_in(Path("outputs/data.classified")) == TABLES


def test_a_link_that_leads_nowhere_is_skipped_or_fails_by_itself(
    command: Command, data: Path, capsys: Capture
) -> None:
    for link in ("circle.csv", "gone.csv"):
        (data / link).symlink_to({"circle.csv": "circle.csv", "gone.csv": "none.csv"}[link])
    code, figures = run(command, capsys, "data")
    assert code == 2
    assert figures["done"] == 3
    assert "data/gone.csv does not exist." in {file.get("error") for file in figures["files"]}


def test_a_folder_that_cannot_be_read_is_refused_before_the_work(
    command: Command, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    scandir = os.scandir

    def forbidden(folder: str) -> Any:
        if Path(folder).name == "year=2024":
            raise PermissionError(13, "Permission denied", folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", forbidden)
    assert command("run", "data", "--systems", "psc") == 2
    assert "data/year=2024 cannot be read: Permission denied." in capsys.readouterr().err
    assert not Path("outputs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data/*.xml"], "data/*.xml has no table."),
        (["none"], "none has no table."),
        (["none"], "a folder with tables other than outputs of this tool."),
        (["-", "data"], "Standard input is one table."),
        (["data", "--output", "-"], "Several files cannot go to standard output."),
        (["data", "--output", "data"], "data is the input."),
        (["data", "--report", "r.html"], "A report is about one table"),
        (["data", "--output", "data/more.jsonl"], "data/more.jsonl is not a folder"),
        (
            ["data", "--text-column", "name", "title"],
            "If it is the value of an option, repeat that: --text-column title or --systems title.",
        ),
        (["data", "--output", "new.csv"], "new.csv is not a folder, and there are several inputs"),
        (["data/year=2023/p.parquet", "data/year=2024/p.parquet"], "would both be written to"),
        (["n" * 200, "m" * 200], "There is no table 'nnnn"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_first_file(
    command: Command, data: Path, capsys: Capture, arguments: list[str], message: str
) -> None:
    os.mkdir("none")  # noqa: PTH102
    assert command("run", *arguments, "--systems", "psc") == 2
    assert message in capsys.readouterr().err
    assert not Path("outputs").exists()


def test_a_plan_goes_on_after_a_file_that_cannot_be_read(
    command: Command, data: Path, capsys: Capture
) -> None:
    (data / "broken.csv").write_text("description\nPens,Paper\n")
    (data / "clash.csv").write_text("description,psc_code\nPens,7510\n")
    assert command("plan", "data", "--systems", "psc") == 2
    printed = capsys.readouterr()
    said = "3 files, 3 rows, 0 without text; without 2 files that failed"
    assert printed.out.splitlines()[0] == said
    assert "data/broken.csv, line 2: 2 fields where " in printed.err
    assert "data/clash.csv: The table already has the column 'psc_code'." in printed.err
    assert command("plan", "data", "--systems", "psc", "--json") == 2
    figures = json.loads(capsys.readouterr().out)
    assert (figures["rows"], len(figures["files"])) == (3, 5)
    assert figures["files"][-1]["input"] == "data/clash.csv"
    assert "--column-prefix" in figures["files"][-1]["hint"]


RUN_TWO = ("run", "a.csv", "b.csv", "--systems", "psc")


def test_a_file_with_too_few_matches_is_named_and_fails_again_when_it_is_skipped(
    command: Command, capsys: Capture
) -> None:
    Path("a.csv").write_text("description\nroads\n")
    Path("b.csv").write_text("description\nжюфц\n")
    for last in ("2 files: 2 done", "2 files: 2 done before"):
        assert command(*RUN_TWO, fail_if_no_match=0) == 3
        said = capsys.readouterr()
        assert "b.csv: Too many rows have no match: 1 of 1 rows (psc)." in said.err
        assert said.out.splitlines()[-1] == last
