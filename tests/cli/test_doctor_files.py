"""What `doctor` says of the files of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.commands import doctor as checks
from pipeline.cli.run_options import RunOptions


def files_of(**options: Any) -> dict[str, tuple[str, str]]:
    """Return the checks of a run's files: what was found, by name."""
    usual = dict.fromkeys(RunOptions.__dataclass_fields__)
    given = {"input_paths": (Path("-"),), "decisions": (), "overwrite": False}
    found = checks.check_files(RunOptions(**{**usual, **given, **options}))
    return {each.what: (each.verdict, each.found) for each in found}


def test_the_files_of_a_run_are_checked(tmp_path: Path) -> None:
    (tmp_path / "theirs.csv").write_text("a")
    (tmp_path / "page.html").write_text("a")
    wrong = files_of(
        output=tmp_path / "theirs.csv",
        report=tmp_path / "page.html",
        decisions=(str(tmp_path / "none.jsonl"),),
    )
    assert {name: verdict for name, (verdict, _) in wrong.items()} == {
        "decisions": "error",
        "output": "error",
        "report": "error",
    }
    assert "theirs.csv exists, and its manifest does not prove" in wrong["output"][1]
    right = files_of(output=tmp_path / "new" / "out.csv", report=tmp_path / "new.html")
    assert right["output"] == ("ok", f"{tmp_path / 'new' / 'out.csv'} can be written")
    assert right["report"][0] == "ok"
    assert files_of(output=tmp_path / "folder")["output"][0] == "ok"
    assert files_of(output=Path("-")) == {}
    assert not (tmp_path / "new").exists()


def test_little_room_where_the_output_and_the_report_go_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "LEAST_ROOM", 2**80)
    found = files_of(output=tmp_path / "new" / "out.csv", report=tmp_path / "new.html")
    assert [verdict for verdict, _ in found.values()] == ["warning"] * 2
    assert all("GB free" in text for _, text in found.values())
