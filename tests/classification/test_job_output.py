"""The output of a job is the old one, none or a whole one, and only ours is replaced."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.classification.file_sink import FileSink
from pipeline.classification.manifest import manifest, manifest_path, was_done
from pipeline.classification.source import Source
from pipeline.classification.summary import Plan, Summary
from pipeline.errors import InputChangedError, OutputError
from pipeline.money import ZERO
from pipeline.purchases import Parked
from pipeline.settings import CsvOptions, ExcelOptions, Files, Settings
from pipeline.tables.arrow import ArrowReader
from pipeline.tables.csv_table import CsvWriter
from pipeline.tables.formats import open_reader
from pipeline.tables.parquet import ParquetWriter
from tests.classification.jobs import run, write_csv
from tests.fakes import ScriptedMatcher


def test_an_output_that_was_changed_is_kept(tmp_path: Path) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    run(source, output)
    output.write_text("mine now")
    with pytest.raises(OutputError, match="--overwrite"):
        run(source, output)
    assert output.read_text() == "mine now"
    run(source, output, overwrite=True)
    assert output.read_text() != "mine now"


def test_a_crash_between_manifest_and_output_leaves_an_output_known_as_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    run(source, output)
    before = output.read_bytes()
    write_csv(source, ["chairs"])
    replace = Path.replace

    def crash_at_output(self: Path, target: Path) -> Path:
        if target.name == "out.csv":
            raise OSError("crash")
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", crash_at_output)
        with pytest.raises(OutputError):
            run(source, output)
    assert output.read_bytes() == before
    run(source, output)
    assert output.read_bytes() != before


def test_the_input_is_never_the_output(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "in.csv")
    with pytest.raises(OutputError, match="is the input"):
        run(source, source, overwrite=True)


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), ConnectionResetError("elsewhere")])
def test_a_failure_in_the_middle_leaves_the_old_output_and_no_litter_and_is_no_error_of_the_output(
    tmp_path: Path, raised: BaseException
) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    run(source, output)
    before = output.read_bytes()

    def fail() -> None:
        raise raised

    with pytest.raises(type(raised)):
        run(source, output, matcher=ScriptedMatcher(("cpv",), fail))
    assert output.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "in.csv",
        "out.csv",
        "out.csv.manifest.json",
    ]


def test_an_input_that_changes_meanwhile_gives_no_output(tmp_path: Path) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"

    def change() -> None:
        with source.open("a") as file:
            file.write("9,road\r\n")

    with pytest.raises(InputChangedError, match="Run the same command again"):
        run(source, output, matcher=ScriptedMatcher(("cpv",), change))
    assert not output.exists()


def test_a_link_as_output_keeps_pointing_to_its_file(tmp_path: Path) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    link.symlink_to(real)
    run(write_csv(tmp_path / "in.csv"), link)
    assert link.is_symlink()
    assert real.read_text().startswith("id,")


def test_two_runs_do_not_write_one_output_at_once(tmp_path: Path) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"

    def run_again() -> None:
        with pytest.raises(OutputError, match="Another run is writing") as refusal:
            run(source, output)
        assert "--output PATH" in refusal.value.hint

    run(source, output, matcher=ScriptedMatcher(("cpv",), run_again))
    assert output.is_file()


def test_what_a_killed_run_left_is_gone_after_the_next(tmp_path: Path) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    left: list[Path] = []

    def look() -> None:
        left.extend(path for path in tmp_path.iterdir() if path.suffix == ".tmp")

    run(source, output, matcher=ScriptedMatcher(("cpv",), look))
    (temporary,) = left
    temporary.write_text("half a row")
    run(source, output)
    assert not temporary.exists()


def test_a_full_disk_is_reported_as_such_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"

    def write(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(CsvWriter, "write", write)
    with pytest.raises(OutputError, match="No space left") as refusal:
        run(source, output)
    assert "free space" in refusal.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_a_file_that_appears_while_the_job_runs_is_kept(tmp_path: Path) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    with pytest.raises(OutputError, match="Somebody else"):
        run(source, output, matcher=ScriptedMatcher(("cpv",), lambda: output.write_text("mine")))
    assert output.read_text() == "mine"


def test_a_manifest_that_is_not_ours_is_kept(tmp_path: Path) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    manifest_path(output).write_text("mine")
    with pytest.raises(OutputError, match="this tool did not write it"):
        run(source, output)
    assert manifest_path(output).read_text() == "mine"
    run(source, output, overwrite=True)
    assert json.loads(manifest_path(output).read_text())["tool"] == "tender-pipeline"


@pytest.mark.parametrize("manifest", ["[" * 200_000, "{}", '{"tool": "tender-pipeline"}', "null"])
def test_a_damaged_manifest_proves_nothing(tmp_path: Path, manifest: str) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    output.write_text("mine")
    manifest_path(output).write_text(manifest)
    with pytest.raises(OutputError, match="--overwrite"):
        run(source, output)


@pytest.mark.parametrize("name", ["x" * 300, "x" * 235, "a\0b", "in.csv/out", "loop"])
def test_a_path_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, name: str
) -> None:
    source = write_csv(tmp_path / "in.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    asked: list[int] = []
    matcher = ScriptedMatcher(("cpv",), lambda: asked.append(1))
    with pytest.raises(OutputError) as refusal:
        run(source, tmp_path / f"{name}.csv", matcher=matcher)
    assert "--output PATH" in refusal.value.hint
    assert not asked


def test_a_replaced_output_keeps_its_mode(tmp_path: Path) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    run(source, output)
    output.chmod(0o600)
    run(source, output)
    assert output.stat().st_mode & 0o777 == 0o600


def test_a_job_that_buys_nothing_keeps_the_table_so_far_of_one_that_does(tmp_path: Path) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    so_far = FileSink(output, "csv").partial.path
    run(source, so_far)
    run(source, output)
    assert so_far.is_file()


READER = ArrowReader(pa.table({}), ())

DONE = Summary(2, {}, ZERO, 1.0)


def recorded(files: Files | None = None, summary: Summary = DONE) -> dict[str, Any]:
    """Return the manifest of a job after a way through JSON."""
    source = Source(READER, Path("in.csv"), files)
    found = manifest(source, Settings(), Plan(2, 1), summary)
    again: dict[str, Any] = json.loads(json.dumps(found))
    return again


def test_a_job_can_be_done_again_from_what_its_manifest_says() -> None:
    options = CsvOptions(delimiter=";", encoding="cp1252", header=False)
    excel = ExcelOptions(sheet="Tenders", header_row=3)
    files = Files("csv", "parquet", overwrite=True, csv=options, excel=excel)
    record = recorded(files)
    said = record["files"]
    assert CsvOptions(**said.pop("csv")) == options
    assert ExcelOptions(**said.pop("excel")) == excel
    formats = {"input_format": "csv", "output_format": "parquet"}
    assert said == {**formats, "overwrite": True, "report": None}
    assert Settings(**record["settings"]) == Settings()


def test_the_same_job_was_done_only_if_its_output_is_complete() -> None:
    files = Files("csv", "csv", overwrite=False, csv=CsvOptions(), excel=ExcelOptions())
    parked = replace(DONE, parked=Parked(5, "The cost limit is reached.", "Raise it."))
    for done, is_done in ((DONE, True), (parked, False)):
        record = recorded(files, done)
        for fingerprint, is_same in (("", True), ("abd", False)):
            found = was_done(record, fingerprint, Settings(jobs=2), files, None)
            assert found == (is_done and is_same)
    assert not was_done({}, "", Settings(), files, None)


def test_a_reader_that_has_the_old_output_open_reads_it_to_its_end(tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    run(write_csv(tmp_path / "in.csv"), output)
    before = output.read_bytes()
    with output.open("rb") as reading:
        begun = reading.read(10)
        run(write_csv(tmp_path / "in.csv", ["chairs"] * 99), output)
        assert begun + reading.read() == before
    assert output.read_bytes() != before


def test_output_and_manifest_are_synced_before_they_are_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, int]] = []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        done.append(("synced", os.fstat(descriptor).st_ino))

    def replaced(path: Path, sink: Path) -> Path:
        done.append(("in place", path.stat().st_ino))
        return replace(path, sink)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    output = tmp_path / "out.csv"
    run(write_csv(tmp_path / "in.csv"), output)
    for file in (output, manifest_path(output)):
        number = file.stat().st_ino
        assert done.index(("synced", number)) < done.index(("in place", number))
    assert done[-1] == ("synced", tmp_path.stat().st_ino)


def test_a_draft_that_a_full_disk_will_not_even_end_is_an_error_of_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    abort = ParquetWriter.abort

    def full(writer: ParquetWriter) -> None:
        abort(writer)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(ParquetWriter, "abort", full)
    source = write_csv(tmp_path / "in.csv")
    reader = open_reader(source, ("description",))
    sink = FileSink(tmp_path / "out.parquet", "parquet", source=source)
    with (
        pytest.raises(OutputError, match="No space left on device"),
        sink.draft(reader, []) as draft,
    ):
        draft.writer.abort()
    assert not sink.path.exists()


@pytest.mark.parametrize("name", ["out.csv", "out.csv.manifest.json"])
def test_what_a_parked_run_bought_is_not_noted_over_or_beside_the_users_own_file(
    tmp_path: Path, name: str
) -> None:
    own = tmp_path / name
    own.write_text("mine")
    with pytest.raises(OutputError, match="exists, and"):
        FileSink(tmp_path / "out.csv", "csv").note({"parked": {}})
    assert [*tmp_path.iterdir()] == [own]
    assert own.read_text() == "mine"
