"""The command that repeats the run of an output."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from pipeline.classification.provenance import read_manifest
from pipeline.cli.output.report import rerun_command
from tests.cli.conftest import Command
from tests.decisions.samples import chose, write

TABLE = "name,about\nroads,Road resurfacing works\nsnow,Snow clearing\n"


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ((), "outputs/my tenders.classified.csv"),
        (
            ("--top", "2", "--min-confidence", "0.5", "--roll-up", "0.7", "--language", "de",
             "--column-prefix", "x_", "--explain", "--limit-rows", "1"),
            "outputs/my tenders.classified.sample-1.csv",
        ),
        (("--output", "here.jsonl"), "here.jsonl"),
        (("--output-format", "parquet"), "outputs/my tenders.classified.parquet"),
        (
            ("--input-format", "csv", "--output", "o.dat", "--output-format", "jsonl",
             "--report", "my page.html", "--decisions", "b.jsonl", "--decisions", "a.jsonl"),
            "o.dat",
        ),
    ],
)  # fmt: skip
def test_it_repeats_the_run_with_its_settings(
    command: Command, tmp_path: Path, options: tuple[str, ...], written: str
) -> None:
    (tmp_path / "my tenders.csv").write_text(TABLE)
    for name in "ab":
        write(
            tmp_path / f"{name}.jsonl",
            [chose("roads. Road resurfacing works", "237310", system="naics")],
        )
    columns = ("--text-column", "name", "--text-column", "about", "--systems", "naics")
    assert command("run", "my tenders.csv", *columns, *options) == 0
    output = Path(written)
    manifest, content = read_manifest(output), output.read_bytes()
    tool, *arguments = shlex.split(rerun_command(manifest, output))
    assert tool == "tender-pipeline"
    assert ("--output" in arguments) == (not written.endswith(".csv"))
    page = Path("my page.html")
    page.unlink(missing_ok=True)
    assert command(*arguments) == 0
    assert page.exists() == ("--report" in options)
    assert output.read_bytes() == content
    for part in ("settings", "files"):
        assert read_manifest(output)[part] == manifest[part]


def test_it_can_be_repeated_in_another_folder(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "t.csv").write_text(TABLE)
    assert command("run", "in/t.csv", "--text-column", "name", "--systems", "naics") == 0
    output = Path("outputs/t.classified.csv").resolve()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    manifest = read_manifest(output)
    _, *arguments = shlex.split(rerun_command(manifest, output))
    assert command(*arguments) == 0
    assert read_manifest(output)["input"]["path"] == str(tmp_path / "in" / "t.csv")


UNUSUAL = {"delimiter": "\t", "encoding": "cp1252", "header": False}
SETTINGS = {"line_end": "crlf", "quote_escape": "backslash"}
SERVICE = "https://service.example"


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (
            {"files": {"csv": UNUSUAL | SETTINGS, "excel": {"sheet": "Lots", "header_row": 3}}},
            "TENDER_PIPELINE_LINE_END=crlf TENDER_PIPELINE_QUOTE_ESCAPE=backslash {} --delimiter "
            "tab --encoding cp1252 --no-header --sheet Lots --header-row 3 --output o.csv",
        ),
        (
            {"files": {"csv": {"header_row": 2}, "excel": {"header_row": None}}},
            "{} --header-row 2 --output o.csv",
        ),
        ({"files": {"excel": {"header_row": 2}}}, "{} --header-row 2 --output o.csv"),
        (  # without the threshold that it has always
            {"settings": {"systems": ["cpv"], "min_confidence": 0.0}, "service": SERVICE},
            f"{{}} --systems cpv --base-url {SERVICE} --output o.csv",
        ),
        (
            {"service": f"{SERVICE}/v1#small%20model"},
            f"{{}} --base-url {SERVICE}/v1 --language-model 'small model' --token-prices IN/OUT "
            "--output o.csv",
        ),
        # Missing, or changed by somebody.
        ({}, "{} --output o.csv"),
        ({"input": 3, "settings": [], "files": {"input_format": "x"}}, "{} --output o.csv"),
        (
            {"settings": {"systems": 3, "models": ["a"]}, "files": {"output_format": []}},
            "{} --output o.csv",
        ),
        (
            {"files": {"csv": {"quote_escape": "double", "header": True}, "excel": 3}},
            "{} --output o.csv",
        ),
    ],
)
def test_it_has_what_the_manifest_says_and_is_not_usual(
    manifest: dict[str, Any], expected: str
) -> None:
    written = rerun_command(manifest, Path("o.csv"))
    assert written == expected.format("tender-pipeline run INPUT")


def test_one_more_file_of_decisions_is_named_once() -> None:
    manifest = {"settings": {"decisions": {"a.jsonl": "", "b.jsonl": ""}}}
    for more in ("a.jsonl", "b.jsonl"):
        assert rerun_command(manifest, Path("o.csv"), Path(more)).endswith(
            "INPUT --decisions a.jsonl --decisions b.jsonl --output o.csv"
        )


def test_what_a_manifest_has_is_quoted_for_the_shell() -> None:
    manifest = {"input": {"path": "$(rm x).csv"}, "settings": {"column_prefix": "; rm"}}
    assert shlex.split(rerun_command(manifest, Path("o.csv")))[2:5] == [
        "$(rm x).csv",
        "--column-prefix",
        "; rm",
    ]
