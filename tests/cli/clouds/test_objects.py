"""Tables in a bucket, in and out: one object, or a folder of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pipeline
from pipeline.classification.cloud_sink import CloudSink
from pipeline.classification.inputs import find_files
from pipeline.errors import InputError, OutputError
from pipeline.files.cloud import Storage
from pipeline.files.paths import CloudPath
from pipeline.tables.formats import open_reader
from tests.cli.clouds.conftest import BUCKET, ENGINE, MANIFEST, OUTPUT, SECRET, TABLE, TEXT
from tests.cli.conftest import Capture, Command
from tests.cli.several_files import run, states
from tests.files.object_store import Fault, ObjectStore
from tests.paid.serving import Service
from tests.paid.serving import serving as serving_paid


def test_a_table_goes_from_bucket_to_bucket_as_between_files(
    command: Command, store: ObjectStore, storage: Storage, capsys: Capture
) -> None:
    Path("t.csv").write_bytes(TEXT)
    assert command("run", "t.csv", "--output", "here.csv", *ENGINE) == 0
    assert command("run", TABLE, "--output", OUTPUT, *ENGINE) == 0
    said = "".join(capsys.readouterr())
    assert store.requests.count("GET /bucket/in/t.csv") == 1
    assert storage.read(OUTPUT) == Path("here.csv").read_bytes()
    record = json.loads(storage.read(MANIFEST) or b"")
    assert record["input"]["path"] == str(TABLE)
    assert record["input"]["version"] == storage.version(TABLE)
    assert record["output"]["path"] == record["summary"]["output"] == str(OUTPUT)
    assert record["output"]["version"] == storage.version(OUTPUT)
    assert f"output: {OUTPUT}" in said
    for secret in (SECRET, "AKIAIOSFODNN7"):
        assert secret not in said + json.dumps(record)


def test_the_default_output_of_an_object_is_a_file(command: Command, store: ObjectStore) -> None:
    assert command("run", TABLE, *ENGINE, "--limit-rows", 2) == 0
    assert Path("outputs/t.classified.sample-2.csv").is_file()
    assert command("run", TABLE, *ENGINE, "--output", "-") == 0
    assert command("plan", TABLE) == 0


def test_an_object_that_this_tool_wrote_is_replaced_unread_and_others_are_kept(
    command: Command, store: ObjectStore, storage: Storage, capsys: Capture
) -> None:
    arguments = ("run", TABLE, "--output", OUTPUT, *ENGINE)
    assert command(*arguments) == command(*arguments, "--top", 2) == 0
    assert "GET /bucket/out/t.csv" not in store.requests
    assert command(*arguments, "--limit-rows", 1) == 2
    assert "holds a full table" in capsys.readouterr().err
    storage.write(b"mine", OUTPUT)
    assert command(*arguments) == 2
    assert f"{OUTPUT} exists, and its manifest does not prove" in capsys.readouterr().err
    assert storage.read(OUTPUT) == b"mine"
    assert command(*arguments, "--overwrite") == 0
    assert command("run", TABLE, "--output", TABLE, *ENGINE, "--overwrite") == 2
    assert "--output and the input are the same file" in capsys.readouterr().err
    storage.write(b"mine", MANIFEST)
    storage.delete(OUTPUT)
    assert command(*arguments) == 2
    assert storage.read(MANIFEST) == b"mine"


def test_a_job_that_died_while_writing_is_done_again(
    command: Command, store: ObjectStore, storage: Storage
) -> None:
    """The manifest is written before and after the object; the process may die in between."""
    arguments = ("run", TABLE, "--output", OUTPUT, *ENGINE)
    assert command(*arguments) == 0
    first = storage.read(OUTPUT)
    for written, is_old in ((1, True), (2, False)):
        allowed = Fault("PUT /bucket/out/.*", lambda: None, times=1 + written)  # and the check's
        store.faults[:] = [allowed, Fault("PUT .*", "denied")]
        assert command(*arguments, "--top", 2) == 2
        assert (storage.read(OUTPUT) == first) == is_old
    store.faults.clear()
    storage.write(b"", OUTPUT)  # as Azure shows an upload that is not complete
    assert command(*arguments) == 0
    assert storage.read(OUTPUT) == first


def test_an_output_that_somebody_else_wrote_meanwhile_is_kept(
    storage: Storage, tmp_path: Path
) -> None:
    table = tmp_path / "t.csv"
    table.write_bytes(TEXT)
    reader = open_reader(table, ["description"])
    with (
        pytest.raises(OutputError, match="Somebody else wrote"),
        CloudSink(OUTPUT, "csv", storage).draft(reader, ()) as draft,
    ):
        draft.writer.close({})
        storage.write(b"mine", OUTPUT)
        draft.commit({})
    assert storage.read(OUTPUT) == b"mine"


def test_a_job_that_stops_is_continued_by_the_same_command_and_buys_nothing_twice(
    command: Command,
    storage: Storage,
    service: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TENDER_PIPELINE_API_KEY", service.account.key)
    terms = ("--systems", "cpv", "--ledger", tmp_path / "ledger.db", "--rate", "none", "--partial")
    partial_output = OUTPUT.with_name("t.partial.csv")
    with serving_paid(service.app()) as url:
        arguments = ("run", TABLE, "--output", OUTPUT, "--base-url", url, "--workers", 1, *terms)
        assert command(*arguments, "--max-cost", "0.00016") == 5
        assert b"pending" in (storage.read(partial_output) or b"")
        assert storage.read(OUTPUT) is None
        assert command(*arguments) == 0
    assert len(service.asked) == 3  # distinct texts, the repeated header among them
    assert b"pending" not in (storage.read(OUTPUT) or b"pending")
    assert storage.read(partial_output) is None


def test_the_manifest_of_an_object_tells_with_which_ledger_it_was_bought(
    command: Command,
    store: ObjectStore,
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.setenv("TENDER_PIPELINE_API_KEY", service.account.key)
    with serving_paid(service.app()) as url:
        terms = ("--systems", "cpv", "--base-url", url, "--rate", "none")
        command("run", TABLE, "--output", OUTPUT, *terms, "--ledger", "a.db", "--limit-rows", 1)
        asked = len(service.asked)
        for does in ("plan", "run"):
            assert command(does, TABLE, "--output", OUTPUT, *terms, "--ledger", "b.db") == 8
            assert f"There is no ledger {Path('b.db').absolute()}" in capsys.readouterr().err
    assert len(service.asked) == asked == 1


def test_a_paid_run_reads_no_manifest_of_a_bucket(
    command: Command, store: ObjectStore, capsys: Capture
) -> None:
    terms = ("--base-url", "http://127.0.0.1:9", "--ledger", "ledger.db")
    arguments = ("--output", BUCKET, "--output-format", "csv", *terms)
    assert command("plan", TABLE, *arguments) == 0
    assert command("run", TABLE, *arguments) == 2
    assert f"{BUCKET} is a bucket." in capsys.readouterr().err


def test_python_classifies_an_object_and_reads_the_result_back(
    store: ObjectStore, storage: Storage
) -> None:
    result = pipeline.classify(str(TABLE), systems="psc", output=str(OUTPUT))
    assert str(result.summary.output) == str(OUTPUT)
    assert len(result.to_pandas()) == 60 + 19  # the header is repeated
    with pytest.raises(InputError, match=r"s3://bucket/in/none\.csv cannot be read"):
        pipeline.plan("s3://bucket/in/none.csv")


def test_an_outdated_partial_output_is_deleted(store: ObjectStore, storage: Storage) -> None:
    sink = CloudSink(OUTPUT, "csv", storage).partial
    assert str(sink.path) == "s3://bucket/out/t.partial.csv"
    sink.discard()
    pipeline.classify(str(TABLE), systems="psc", output=str(sink.path))
    sink.discard()
    assert storage.version(sink.path) is None
    storage.write(b"mine", sink.path)
    sink.discard()
    assert storage.read(sink.path) == b"mine"


def test_what_a_parked_run_bought_is_noted_beside_an_object(
    store: ObjectStore, storage: Storage
) -> None:
    sink = CloudSink(OUTPUT, "csv", storage)
    sink.note({"parked": {"ledger": "l.db"}})
    _, (path, manifest) = sink.manifests()
    assert path == OUTPUT
    assert manifest["parked"] == {"ledger": "l.db"}
    sink.check()
    storage.write(b"mine", MANIFEST)
    with pytest.raises(OutputError, match="this tool did not write it"):
        sink.note({"parked": {}})
    assert storage.read(MANIFEST) == b"mine"


@pytest.mark.parametrize("option", ["--report", "--ledger"])
def test_reports_and_ledgers_are_local(command: Command, capsys: Capture, option: str) -> None:
    assert command("run", "t.csv", option, "s3://bucket/x") == 2
    assert f"Give {option} a local path." in capsys.readouterr().err
    assert not Path("s3:").exists()


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
