"""A job from its table to its output, with a matcher that gives known answers."""

from __future__ import annotations

import errno
import json
import os
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.answers import SYSTEMS, System
from pipeline.classification import job
from pipeline.classification.free import Free
from pipeline.classification.provenance import manifest_path
from pipeline.classification.sink import FileSink, MemorySink
from pipeline.classification.source import Source
from pipeline.classification.summary import Summary
from pipeline.errors import InputChangedError, InputError, OutputError, SettingsError
from pipeline.settings import CsvOptions, Format, Settings
from pipeline.tables import ArrowReader, open_reader
from pipeline.tables.csv_writer import CsvWriter
from pipeline.tables.table import BATCH_ROWS
from tests.fakes import COST, ScriptedMatcher

TEXTS = ["road", "", "chairs", "gibberish", "refused", "road"]
STATUSES = ["ok", "empty", "review", "no_match", "VALIDATION_ERROR", "ok"]


def write_csv(path: Path, texts: list[str] = TEXTS) -> Path:
    path.write_text("id,description\r\n" + "".join(f"00{i},{t}\r\n" for i, t in enumerate(texts)))
    return path


def run(
    source: Path,
    output: Path,
    settings: Settings | None = None,
    *,
    matcher: ScriptedMatcher | None = None,
    overwrite: bool = False,
    output_format: Format = "csv",
) -> Summary:
    settings = settings or Settings(systems=("cpv",), min_confidence=0.5)
    reader = open_reader(source, settings.text_columns, CsvOptions())
    sink = FileSink(output, output_format, overwrite, source)
    free = Free(matcher or ScriptedMatcher(settings.systems))
    return job.run(Source(reader, source), sink, settings, free)


def test_every_row_comes_out_in_order_with_its_answer_behind_it(tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    run(write_csv(tmp_path / "in.csv"), output)
    lines = output.read_bytes().split(b"\r\n")
    assert lines == [
        b"id,description,cpv_code,cpv_title,cpv_confidence,cpv_status,cpv_cost_usd,cost_usd",
        b"000,road,45233140,Roadworks,0.9,ok,0.00010499999999999999,0.00010499999999999999",
        b"001,,,,,empty,0,0",
        b"002,chairs,39112000,Chairs,0.3,review,0,0",
        b"003,gibberish,,,,no_match,0,0",
        b"004,refused,,,,VALIDATION_ERROR,0,0",
        b"005,road,45233140,Roadworks,0.9,ok,0.00010499999999999999,0.00010499999999999999",
        b"",
    ]


def test_columns_stand_in_the_order_of_the_systems_with_matches_when_asked(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    settings = Settings(systems=("naics", "cpv"), top=2, column_prefix="new_")
    run(write_csv(tmp_path / "in.csv"), output, settings, output_format="parquet")
    table = pq.read_table(output)
    suffixes = ["code", "title", "confidence", "status", "cost_usd", "matches"]
    assert table.column_names == [
        "id",
        "description",
        *[f"new_{system}_{suffix}" for system in ("naics", "cpv") for suffix in suffixes],
        "new_cost_usd",
    ]
    assert table["new_cpv_matches"].to_pylist()[:4] == [
        [
            {"code": "45233140", "title": "Roadworks", "confidence": 0.9},
            {"code": "45233000", "title": "Roads", "confidence": 0.4},
        ],
        None,
        [{"code": "39112000", "title": "Chairs", "confidence": 0.3}],
        [],
    ]
    assert table.schema.field("new_cost_usd").type == pa.decimal128(38, 24)


def test_costs_add_up_to_the_last_digit(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    texts = ["road"] * 1000
    source = write_csv(tmp_path / "in.csv", texts)
    summary = run(source, output, Settings(), output_format="parquet")
    expected = COST * len(texts) * len(SYSTEMS)
    assert summary.cost_usd == expected
    assert sum(pq.read_table(output)["cost_usd"].to_pylist()) == expected
    metadata = pq.read_metadata(output).metadata
    assert Decimal(metadata[b"tender_pipeline.cost_usd"].decode()) == expected
    manifest = json.loads(manifest_path(output).read_text())
    assert Decimal(manifest["summary"]["cost_usd"]) == expected


def test_the_summary_counts_each_status(tmp_path: Path) -> None:
    summary = run(write_csv(tmp_path / "in.csv"), tmp_path / "out.csv")
    assert summary.systems["cpv"].statuses == {
        status: STATUSES.count(status) for status in STATUSES
    }
    assert summary.failed == 1
    assert summary.rows == len(TEXTS)


def test_the_manifest_says_what_went_in_and_what_came_out(tmp_path: Path) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    reader = open_reader(source, ("description",))
    run(source, output)
    manifest = json.loads(manifest_path(output).read_text())
    assert manifest["input"] == {"path": str(source), "sha256": reader.fingerprint()}
    assert manifest["output"]["sha256"] == open_reader(output, ()).fingerprint()
    assert manifest["settings"]["systems"] == ["cpv"]
    assert manifest["plan"] == {"rows": 6, "empty": 1, "wordless": 0}
    assert manifest["exit_state"] == "complete with failed rows"


def test_limit_rows_reads_no_further(tmp_path: Path) -> None:
    for limit in (0, 1, 3, 6, 100):
        output = tmp_path / f"out{limit}.csv"
        summary = run(
            write_csv(tmp_path / "in.csv"), output, Settings(systems=("cpv",), limit_rows=limit)
        )
        assert summary.rows == min(limit, len(TEXTS))
        assert len(output.read_text().splitlines()) == 1 + min(limit, len(TEXTS))


def test_an_output_of_ours_is_replaced_without_asking(tmp_path: Path) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    run(source, output)
    write_csv(source, ["chairs"])
    run(source, output)
    assert len(output.read_text().splitlines()) == 2


def test_an_output_that_somebody_changed_is_kept(tmp_path: Path) -> None:
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


def test_a_failure_in_the_middle_leaves_the_old_output_and_no_litter(tmp_path: Path) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    run(source, output)
    before = output.read_bytes()

    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
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


def test_a_ragged_table_fails_before_the_matcher_is_asked(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "in.csv")
    with source.open("a") as file:
        file.write("8,road\r\n" * BATCH_ROWS + "9,road,more\r\n")
    asked: list[int] = []
    matcher = ScriptedMatcher(("cpv",), lambda: asked.append(1))
    with pytest.raises(InputError, match=f"line {BATCH_ROWS + 8}"):
        run(source, tmp_path / "out.csv", matcher=matcher)
    assert not asked
    assert not (tmp_path / "out.csv").exists()


def test_columns_of_our_names_stop_the_job_and_a_prefix_helps(tmp_path: Path) -> None:
    source, first = write_csv(tmp_path / "in.csv"), tmp_path / "first.csv"
    run(source, first)
    with pytest.raises(SettingsError, match=r"cpv_code.*--column-prefix"):
        run(first, tmp_path / "second.csv")
    run(first, tmp_path / "second.csv", Settings(systems=("cpv",), column_prefix="b_"))
    header = (tmp_path / "second.csv").read_text().splitlines()[0]
    assert header.endswith(
        "cost_usd,b_cpv_code,b_cpv_title,b_cpv_confidence,b_cpv_status,b_cpv_cost_usd,b_cost_usd"
    )


def test_a_table_in_memory_stays_in_memory() -> None:
    systems: tuple[System, ...] = ("cpv",)
    settings = Settings(systems=systems)
    sink = MemorySink()
    reader = ArrowReader(pa.table({"description": TEXTS}), settings.text_columns)
    summary = job.run(Source(reader), sink, settings, Free(ScriptedMatcher(systems)))
    assert sink.table["cpv_status"].to_pylist()[4] == "VALIDATION_ERROR"
    assert summary.output is None


def test_an_empty_table_gives_an_empty_output(tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    summary = run(write_csv(tmp_path / "in.csv", []), output)
    assert summary.rows == 0
    assert len(output.read_text().splitlines()) == 1


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


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_may_not_be_written_is_said_so(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "in.csv")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(OutputError, match="Nothing can be written in"):
        run(source, locked / "out.csv")


def test_a_full_disk_is_said_so_and_leaves_nothing(
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


def test_an_error_elsewhere_is_not_told_as_one_of_the_output(tmp_path: Path) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"

    def fail() -> None:
        raise ConnectionResetError("elsewhere")

    with pytest.raises(ConnectionResetError):
        run(source, output, matcher=ScriptedMatcher(("cpv",), fail))


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


def test_a_doubtful_code_gives_way_to_a_sure_one_above_it(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    settings = Settings(systems=("cpv",), top=2, roll_up=0.95)
    summary = run(write_csv(tmp_path / "in.csv"), output, settings, output_format="parquet")
    table = pq.read_table(output)
    assert table["cpv_code"].to_pylist()[:3] == ["45233000", None, "39112000"]
    assert table["cpv_confidence"].to_pylist()[:3] == [1.0, None, 0.3]
    assert table["cpv_status"].to_pylist() == STATUSES
    listed = [match["code"] for match in table["cpv_matches"].to_pylist()[0]]
    assert listed == ["45233000", "45233140"]
    assert summary.systems["cpv"].statuses["review"] == STATUSES.count("review")
    said = json.loads(manifest_path(output).read_text())["settings"]
    assert (said["roll_up"], said["top"]) == (0.95, 2)


def test_a_rolled_up_code_may_still_need_review(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    settings = Settings(systems=("cpv",), roll_up=0.2, min_confidence=0.5)
    run(write_csv(tmp_path / "in.csv"), output, settings, output_format="parquet")
    assert pq.read_table(output)["cpv_status"].to_pylist() == STATUSES


def test_a_job_that_buys_nothing_keeps_the_table_so_far_of_one_that_does(tmp_path: Path) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    so_far = FileSink(output, "csv").partial.path
    run(source, so_far)
    run(source, output)
    assert so_far.is_file()
