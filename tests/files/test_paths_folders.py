from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from pipeline.errors import SettingsError
from pipeline.files import paths as folders


def test_folders_follow_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert folders.state_folder() == tmp_path / "state" / "tender-pipeline"
    assert folders.data_folder() == tmp_path / "data" / "tender-pipeline"


@pytest.mark.parametrize(
    ("function", "folder", "variable"),
    [
        ("user_data_path", "data_folder", "XDG_DATA"),
        ("user_state_path", "state_folder", "XDG_STATE"),
    ],
)
def test_a_user_without_a_home_learns_what_to_set(
    monkeypatch: pytest.MonkeyPatch, function: str, folder: str, variable: str
) -> None:
    def homeless(name: str) -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr(platformdirs, function, homeless)
    with pytest.raises(SettingsError) as refusal:
        getattr(folders, folder)()
    assert variable in refusal.value.hint


def test_the_machines_folder_is_at_home_whatever_the_environment_says_of_state(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert folders.machine_folder().parent.parent.parent == tmp_path


def test_without_a_home_to_write_in_the_machines_folder_is_the_state_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert folders.machine_folder() == tmp_path / "state" / "tender-pipeline"
