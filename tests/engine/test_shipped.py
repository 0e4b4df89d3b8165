"""The models that come with the package."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from benchmarks.texts import made_texts
from pipeline.answers import SYSTEMS, System
from pipeline.codes import load
from pipeline.engine.model import (
    check_arrays,
    general_model,
    load_model,
    model_folder,
    shipped_model,
    shipped_models,
)
from pipeline.engine.model.folder import checksum
from pipeline.engine.model.scorer import Blend
from pipeline.engine.model.stored import own
from pipeline.engine.rankers import ranker
from pipeline.errors import SettingsError

FOLDER = general_model().path

SHIPPED = [folder.path for folder in shipped_models()]

MOST = 60_000_000
"""Bytes of all the models together."""


def test_every_system_has_a_model_and_all_together_are_small() -> None:
    assert set(general_model().systems) == set(SYSTEMS)
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) <= MOST


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_the_arrays_are_as_they_were_written(folder: Path) -> None:
    checksums = json.loads((folder / "model.json").read_text("utf-8"))["arrays"]
    assert {f"{name}.npy" for name in checksums} == {path.name for path in folder.glob("*.npy")}
    check_arrays(model_folder(folder))


def linked(folder: Path, place: Path) -> Path:
    """Return a folder with the files of a shipped model, which is checked like a user's."""
    for path in folder.iterdir():
        (place / path.name).symlink_to(path)
    return place


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return linked(FOLDER, tmp_path)


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_their_values_pass_the_checks_that_are_skipped_when_they_are_loaded(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = model_folder(linked(folder, tmp_path))
    for system in model.systems:
        assert load_model(model, system).system == system
    assert not caplog.messages, "the general model is the one that they were trained beside"


def test_a_system_is_answered_by_a_model_that_knows_it() -> None:
    for system in SYSTEMS:
        assert system in shipped_model(system).systems


def test_a_damaged_array_is_found(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "naics.prior.npy").unlink()
    with pytest.raises(SettingsError, match=r"naics\.prior\.npy"):
        check_arrays(model_folder(tmp_path))
    np.save(tmp_path / "naics.prior.npy", np.load(FOLDER / "naics.prior.npy") + 1)
    with pytest.raises(SettingsError, match=r"naics\.prior\.npy is not as it was written"):
        check_arrays(model_folder(tmp_path))


def test_the_systems_share_one_encoder_whose_weights_stay_on_disk() -> None:
    encoders = {id(own(load_model(general_model(), system)).encoder) for system in SYSTEMS}
    assert len(encoders) == 1
    for folder in shipped_models():
        weights = own(load_model(folder, folder.systems[0])).encoder.weights
        assert isinstance(weights.places.base, np.memmap)


def test_beside_each_model_of_publishers_is_the_general_one() -> None:
    for system in ("psc", "naics", "unspsc"):
        scores = load_model(shipped_model(system), system).scores
        assert isinstance(scores, Blend)
        assert scores.other is load_model(general_model(), system).scores
        assert scores.same_codes
        assert scores.gate is not None
        assert scores.gate.encoder is own(load_model(general_model(), system)).encoder


def test_a_gate_that_does_not_fit_the_model_beside_it_is_refused(tmp_path: Path) -> None:
    gated = linked(shipped_model("naics").path, tmp_path)
    (gated / "naics.gate.npy").unlink()
    weights = np.load(shipped_model("naics").path / "naics.gate.npy")[:-1]
    np.save(gated / "naics.gate.npy", weights)
    about = json.loads((gated / "model.json").read_text("utf-8"))
    about["arrays"]["naics.gate"] = checksum(weights)
    (gated / "model.json").unlink()
    (gated / "model.json").write_text(json.dumps(about), "utf-8")
    with pytest.raises(SettingsError, match="its gate does not fit the model beside it"):
        load_model(model_folder(gated), "naics")


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_code_of_the_table_is_known_and_every_answer_has_a_title(system: System) -> None:
    table = load(system)
    assignable = {code for code in table.titles if table.assignable(code)}
    assert assignable <= set(load_model(shipped_model(system), system).codes.tolist())
    texts = ["supply of toner", "works", "Lieferung von Medikamenten", "??", "x1 y2"]
    for matches in ranker(system).rank(texts, 20):
        assert all(table.titles[match.code] == match.title for match in matches)


@pytest.mark.parametrize(
    ("system", "text", "start"),
    [
        ("cpv", "Asphalt road surfacing works", "452"),
        ("cpv", "Road resurfacing works on the A12", "45233"),
        ("cpv", "Wartung von Aufzügen", "5075"),
        ("cpv", "Desks and office chairs", "391"),
        ("cpv", "Entretien des espaces verts de la commune", "773"),
        ("cpv", "Servicio de limpieza de los edificios municipales", "909"),
        ("cpv", "Lieferung von Feuerwehrfahrzeugen", "34"),
        ("cpv", "Dostawa komputerów i monitorów dla szkoły", "302"),
        ("psc", "JANITORIAL SERVICES, VA CLINIC", "S201"),
        ("psc", "VALVE, BALL", "4820"),
        ("naics", "Janitorial services for the courthouse", "561720"),
        ("naics", "Dredging of the navigation channel", "237990"),
        ("unspsc", "Legal Services", "8012"),
        ("unspsc", "Provision of temporary ICT labour hire", "80"),
    ],
)
def test_what_any_buyer_would_call_it_is_found(system: System, text: str, start: str) -> None:
    ((best, *_),) = ranker(system).rank([text], 5)
    assert best.code.startswith(start)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("text", ["", "!!", "123", "道路の維持補修工事", "ქართული ტექსტი"])
def test_a_text_of_which_nothing_is_known_gets_no_match(system: System, text: str) -> None:
    assert ranker(system).rank([text], 5) == [()]


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_text_of_a_kind_never_seen_gets_little_confidence(system: System) -> None:
    for matches in ranker(system).rank(["xyzzy plugh qwrt", "wnioskodawczyniom zzgl"], 1):
        # An expert accepts more PSC and NAICS codes, so that even a guess is worth more there.
        most = {"psc": 0.45, "naics": 0.3}.get(system, 0.25)
        assert all(match.confidence < most for match in matches)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_text_alone_is_answered_as_among_others(system: System) -> None:
    made = made_texts(500, seed=9)
    # Of these some answers differed in a last digit when each was scored as a matrix of one row.
    for place in (7, 59, 77, 207, 316, 324, 452, 497):
        (alone,) = ranker(system).rank([made[place]], 10)
        assert ranker(system).rank([made[place]] * 2, 10) == [alone, alone]


def test_the_recipe_names_every_system() -> None:
    recipe = tomllib.loads((FOLDER / "recipe.toml").read_text("utf-8"))
    assert set(recipe["systems"]) == set(SYSTEMS)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_card_of_each_model_says_what_the_model_says_of_itself(system: System) -> None:
    said = (shipped_model(system).path / "model.json").read_text("utf-8")
    about = json.loads(said)["about"][system]
    card = Path(FOLDER, f"{system}.md").read_text("utf-8")
    right = about["held_back"]["right"]
    for top in ("1", "5", "10"):
        assert f"{right[top]:.3f}".lstrip("0") in card
    for source, figures in about["by_source"].items():
        assert f"| {source} | {figures['rows']:,} |" in card
