"""Several files in one call: each is a job, and those that are done are skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

import pipeline

ENGINE = {"systems": "psc"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    for name, text in (("a", "Road marking"), ("b", "Office chairs")):
        (data / f"{name}.csv").write_text(f"description\n{text}\n")
    return data


def states(found: list[pipeline.FileOutcome]) -> list[str]:
    return [each.state for each in found]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_is_classified_once(folder: Path, jobs: int) -> None:
    found = pipeline.classify_files(folder, output="out", jobs=jobs, **ENGINE)
    assert [each.file.path.name for each in found] == ["a.csv", "b.csv"]
    assert states(found) == ["done", "done"]
    assert "psc_code" in Path("out/b.csv").read_text()
    assert states(pipeline.classify_files(folder, output="out", **ENGINE)) == ["skipped"] * 2
    (folder / "b.csv").write_text("description\nWheat\n")
    again = pipeline.classify_files(["data/a.csv", "data/b.csv"], output="out", **ENGINE)
    assert states(again) == ["skipped", "done"]


def test_a_file_that_cannot_be_read_names_arguments_and_the_others_go_on(folder: Path) -> None:
    (folder / "a.csv").write_text("title\nRoad marking\n")
    bad, good = pipeline.classify_files("data/*.csv", output="out", **ENGINE)
    assert (bad.state, bad.exit_code, good.state) == ("failed", 2, "done")
    assert isinstance(bad.error, pipeline.InputError)
    assert 'text_columns=["title"]' in bad.error.hint


def test_wrong_arguments_are_refused_before_any_work(folder: Path) -> None:
    with pytest.raises(TypeError, match="has no argument"):
        pipeline.classify_files(folder, system="psc")
    with pytest.raises(pipeline.SettingsError, match="is not a folder") as caught:
        pipeline.classify_files(folder, output="out.csv", **ENGINE)
    assert caught.value.hint == 'Name a folder: output="DIR".'
    with pytest.raises(pipeline.InputError, match="has no table"):
        pipeline.classify_files("data/*.parquet", **ENGINE)
    for none in (list[str](), ()):
        with pytest.raises(pipeline.InputError, match="No path is given"):
            pipeline.classify_files(none, **ENGINE)
