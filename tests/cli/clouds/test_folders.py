"""Folders in buckets, and patterns for their objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.classification.inputs import find_files
from pipeline.errors import InputError
from pipeline.files.cloud import Storage
from pipeline.files.paths import CloudPath
from tests.cli.clouds.conftest import BUCKET, TABLE, TEXT
from tests.cli.conftest import Capture, Command
from tests.cli.several_files import run, states
from tests.files.object_store import ObjectStore

FILES = {
    "data/2024/a.csv": b"description\nChairs\n",
    "data/2024/b.jsonl": b'{"description": "Pens"}\n',
    "data/2025/a.csv": b"description\nRoads\n",
    "data/notes.md": b"no table",
    "data/_SUCCESS": b"",
    "data/coded.csv": b"description\nours\n",
    "data/coded.csv.manifest.json": b"{}",
}


def test_a_folder_in_a_bucket_keeps_its_layout_and_done_objects_are_not_read_again(
    command: Command, store: ObjectStore, storage: Storage, capsys: Capture
) -> None:
    for name, content in FILES.items():
        storage.write(content, BUCKET / name)
    arguments = (BUCKET / "data", "--output", BUCKET / "coded")
    code, figures = run(command, capsys, *arguments)
    assert (code, states(figures)) == (0, ["done"] * 3)
    found = {path.relative_to(BUCKET / "coded") for path in storage.files(BUCKET / "coded")}
    assert found > {CloudPath("2024/a.csv"), CloudPath("2024/b.jsonl"), CloudPath("2025/a.csv")}
    store.requests.clear()
    storage.write(b"description\nTables\n", BUCKET / "data/2024/a.csv")
    assert states(run(command, capsys, *arguments)[1]) == ["done", "skipped", "skipped"]
    read = [each for each in store.requests if each.startswith("GET /bucket/data/")]
    assert read == ["GET /bucket/data/2024/a.csv"]


def test_a_pattern_finds_objects_as_it_finds_files(storage: Storage) -> None:
    for name in FILES:
        storage.write(b"", BUCKET / name)
    for pattern, names in (
        ("data/*/a.csv", ["2024/a.csv", "2025/a.csv"]),
        ("data/2024/[b-z].*", ["b.jsonl"]),
        ("data/**/b*", ["2024/b.jsonl"]),
        ("data/**/*.md", ["notes.md"]),
    ):
        found = find_files([BUCKET / pattern], Path("out"), None, storage)
        assert [file.output for file in found] == [Path("out") / name for name in names]
    with pytest.raises(InputError, match=r"s3://bucket/data/\*\.zip has no table"):
        find_files([BUCKET / "data" / "*.zip"], Path("out"), None, storage)


def test_files_go_to_a_bucket_and_objects_to_a_folder(
    command: Command, store: ObjectStore, storage: Storage, capsys: Capture
) -> None:
    Path("data").mkdir()
    Path("data/a.csv").write_bytes(TEXT)
    assert run(command, capsys, "data", TABLE, "--output", BUCKET / "all")[0] == 0
    assert {path.name for path in storage.files(BUCKET / "all")} > {"a.csv", "t.csv"}
    assert run(command, capsys, BUCKET / "in", "--output", "here")[0] == 0
    assert Path("here/t.csv").read_bytes() == storage.read(BUCKET / "all" / "t.csv")
    assert command("run", TABLE, "--output", BUCKET, "--output-format", "csv") == 2
    assert f"{BUCKET} is a bucket." in capsys.readouterr().err
    code = command("run", "data", "--output", TABLE)
    assert (code, f"{TABLE} is not a folder" in capsys.readouterr().err) == (2, True)
    assert command("run", BUCKET / "none" / "*.csv", "--output", "here") == 2
