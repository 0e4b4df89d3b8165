"""How an output gets into its place: whole, at once and synced; see test_job.py for the rest."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pipeline.classification.file_sink import FileSink
from pipeline.classification.provenance import manifest_path
from pipeline.errors import OutputError
from pipeline.tables import open_reader
from pipeline.tables.parquet import ParquetWriter
from tests.classification.jobs import run, write_csv


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
