from __future__ import annotations

import json
import os
import resource
from pathlib import Path

import numpy as np
import pytest

from pipeline.engine.model import folder as folders
from pipeline.engine.model import load_model, model_folder, save
from pipeline.errors import OutputError, SettingsError
from tests.engine.model.training_data import history, taught


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save([taught().model], tmp_path / "model", {"rows": 300})
    return tmp_path / "model"


def test_a_model_that_was_kept_answers_the_same_and_is_mapped_into_memory(folder: Path) -> None:
    texts, _ = history(50, seed=3)
    kept = load_model(model_folder(folder), "cpv")
    places, confidence = kept.predict(texts, 3)
    expected, sure = taught().model.predict(texts, 3)
    assert kept.codes[places[:, 0]].tolist() == taught().model.codes[expected[:, 0]].tolist()
    assert np.abs(confidence - sure)[:, 0].max() < 0.02
    assert isinstance(kept.own.encoder.weights.places.base, np.memmap)
    assert kept.codes[places].tolist() == kept.codes[load_places(folder, texts)].tolist()


def load_places(folder: Path, texts: list[str]) -> list[list[int]]:
    places, _ = load_model(model_folder(folder), "cpv").predict(texts, 3)
    found: list[list[int]] = places.tolist()
    return found


def test_the_same_model_is_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    save([taught().model], tmp_path / "again", {"rows": 300})
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        p.name for p in (tmp_path / "again").iterdir()
    )
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_a_model_is_on_the_disk_when_it_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = list[int]()
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
    save([taught().model], tmp_path / "model", {})
    *files, folder, parent = synced
    assert folder == (tmp_path / "model").stat().st_ino, "the names of its files"
    assert sorted(files) == sorted(path.stat().st_ino for path in (tmp_path / "model").iterdir())
    assert parent == tmp_path.stat().st_ino, "its name, when it has taken its place"


def test_a_folder_without_a_model_is_refused_with_the_way_to_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is not a model") as caught:
        model_folder(tmp_path)
    assert "tender-pipeline train" in caught.value.hint


def changed(folder: Path, **values: object) -> None:
    about = json.loads((folder / "model.json").read_text("utf-8"))
    (folder / "model.json").write_text(json.dumps(about | values), "utf-8")


@pytest.mark.parametrize("form", [folders.FORM - 1, folders.FORM + 1])
def test_a_model_of_an_older_or_newer_form_is_refused(folder: Path, form: int) -> None:
    changed(folder, form=form)
    said = f"has form {form}, and this version reads form {folders.FORM}"
    with pytest.raises(SettingsError, match=said) as caught:
        model_folder(folder)
    assert "Train it again" in caught.value.hint


def test_a_model_that_was_replaced_since_it_was_opened_is_refused(folder: Path) -> None:
    opened = model_folder(folder)
    save([taught().model], folder, {"rows": 301})
    with pytest.raises(SettingsError, match="was replaced meanwhile"):
        load_model(opened, "cpv")


def test_a_folder_without_a_model_is_replaced_only_with_overwrite(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear", "utf-8")
    with pytest.raises(OutputError, match="is not a model of this tool") as caught:
        save([taught().model], folder, {})
    assert "--overwrite" in caught.value.hint
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]
    save([taught().model], folder, {}, overwrite=True)
    assert not (folder / "letter.txt").exists()
    assert load_model(model_folder(folder), "cpv").codes.tolist() == taught().model.codes.tolist()


def test_a_full_disk_is_reported_as_such(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
    try:
        with pytest.raises(OutputError, match="cannot be written: File too large"):
            save([taught().model], tmp_path / "model", {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not any(tmp_path.iterdir())


def test_a_model_that_cannot_be_written_leaves_nothing_and_the_old_one_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = model_folder(folder)

    def full(path: Path, array: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OutputError, match="No space left"):
        save([taught().model], folder, {})
    assert model_folder(folder) == before
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_the_current_folder_cannot_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match="is where you are"):
        save([taught().model], Path(), {}, overwrite=True)


def test_the_old_model_comes_back_if_the_new_one_cannot_take_its_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = model_folder(folder)
    move = Path.replace

    def stuck(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise OSError(5, "Input/output error")
        return move(path, target)

    monkeypatch.setattr(Path, "replace", stuck)
    with pytest.raises(OutputError, match="Input/output error"):
        save([taught().model], folder, {"rows": 301})
    assert model_folder(folder) == before
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
