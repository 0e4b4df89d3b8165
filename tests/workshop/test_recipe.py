"""`python -m workshop RECIPE`, which trains several systems together."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from pipeline.engine.model import Model, load_model, model_folder, shipped_model
from pipeline.engine.model.encoder import EncodedBatch, Scorer
from pipeline.engine.model.features import count
from pipeline.engine.model.matrices import Floats
from pipeline.engine.training import Trained
from pipeline.engine.training.network import TrainingSet, tree
from pipeline.progress import silent
from tests.engine.model.training_data import answers, history, ignored
from tests.workshop.tasks import small, task
from workshop.__main__ import install, main
from workshop.recipe import phrases, read_recipe
from workshop.run import train_recipe
from workshop.training import OtherLanguages, Task, train, with_other_languages, work

RECIPE = """
[[networks]]
count = 1
dimensions = 16
epochs = 1
batch = 512
feature_rate = 0.5
dropout = 0.5

[model]
at_least = 2
width = 16
columns = 4

[systems.naics]
taught = ["taught.csv"]
held_back = ["tried.csv"]
phrases = [{ file = "more.csv", text = ["entry"], split = ";", where = { kind = "index" } }]
most_of_a_source = 50

[systems.unspsc]
taught = ["taught_unspsc.csv"]
held_back = ["tried_unspsc.csv"]
phrase_weight = 0.3

[other_languages]
notice_share = 0.5
"""

NAICS = {"03111000": "111140", "45233140": "237310", "90910000": "561720"}
UNSPSC = {"03111000": "10151700", "45233140": "72141199", "90910000": "76111500"}


def labelled(path: Path, seed: int, codes: dict[str, str], rows: int) -> None:
    texts, cpv = history(rows, seed)
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(("text", "code", "source"))
        for number, (text, code) in enumerate(zip(texts, cpv, strict=True)):
            lines.writerow((text, codes[code], "one" if number % 3 else "two"))


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # A few of the phrases do to show that they are learned; all take most of the time.
    monkeypatch.setattr("workshop.recipe.phrases", lambda system: phrases(system)[::100])
    for suffix, codes in (("", NAICS), ("_unspsc", UNSPSC)):
        labelled(tmp_path / f"taught{suffix}.csv", 1, codes, 60)
        labelled(tmp_path / f"tried{suffix}.csv", 2, codes, 30)
    (tmp_path / "more.csv").write_text(
        "entry,code,kind\nquay walls; mooring dolphins,237990,index\nquay walls,111140,other\n"
    )
    (tmp_path / "recipe.toml").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "recipe.toml"


def test_a_recipe_teaches_several_systems_and_says_how_good_each_is_by_source(
    recipe: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[Model] = []

    def noted(*arguments: Any) -> dict[str, float]:
        compared.append(arguments[2])
        return {"changed": 0.0, "better": 0.0, "worse": 0.0}

    monkeypatch.setattr("pipeline.training.run.flips", noted)
    assert main([str(recipe), "--output", "model"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert about["naics"]["held_back"]["rows"] == 30
    assert about["naics"]["held_back"]["right"]["10"] > 0.9
    assert about["unspsc"]["learned_by_source"] == {"one": 60, "two": 30}
    sources = about["unspsc"]["by_source"]
    assert (sources["one"]["rows"], sources["two"]["rows"]) == (20, 10)
    assert list(about["naics"]["by_level"])[:2] == ["sector", "subsector"]
    levels = [figures["right_1"] for figures in about["naics"]["by_level"].values()]
    assert levels == sorted(levels, reverse=True)
    folder = model_folder(Path("model"))
    assert folder.systems == ("naics", "unspsc")
    # Each is compared with the model that answers without it.
    assert compared == [load_model(shipped_model(), system) for system in folder.systems]
    codes = {system: set(load_model(folder, system).codes.tolist()) for system in folder.systems}
    assert {"237990", "561720"} <= codes["naics"]
    assert "72141199" in codes["unspsc"]  # a commodity, which the shipped table lacks
    assert {file.name.partition(".")[0] for file in folder.path.iterdir()} == {
        "encoder",
        "model",
        "naics",
        "unspsc",
    }


def test_a_model_that_does_not_learn_what_is_held_back_is_the_one_that_was_measured(
    recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only_naics = RECIPE.partition("[systems.unspsc]")[0]
    line = "[systems.naics]\n"
    recipe.write_text(only_naics.replace(line, f"{line}learns_held_back = false\n"))
    assert main([str(recipe), "--output", "model"]) == 0
    about = json.loads(capsys.readouterr().out)["naics"]
    assert about["learned_rows"] == 60
    assert about["learned_by_source"] == {"one": 40, "two": 20}
    assert about["held_back"]["rows"] == 30


@pytest.mark.parametrize("judges", [True, False])
def test_a_model_learns_to_judge_its_codes_unless_it_is_completed_later(
    recipe: Path, monkeypatch: pytest.MonkeyPatch, judges: bool
) -> None:
    def judging(tasks: Sequence[Task], found: Sequence[Trained]) -> Any:
        return {"naics": (replace(found[0].model, only_history=True), {"texts": 3})}

    monkeypatch.setattr("workshop.run.judging", judging)
    folder = recipe.parent / "model"
    about = train_recipe(recipe, recipe.parent, folder, silent, judges=judges)
    assert about["naics"].get("judged") == ({"texts": 3} if judges else None)
    assert load_model(model_folder(folder), "naics").only_history == judges


def test_a_system_learns_the_texts_of_cpv_if_the_recipe_says_so(
    recipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The titles in all languages would take most of the time.
    monkeypatch.setattr(
        "workshop.recipe.titles_by_language", lambda table: [[*table.titles.values()]]
    )
    cpv = '[systems.cpv]\ntaught = ["taught_cpv.csv"]\nheld_back = ["tried_cpv.csv"]\n'
    for name in ("taught_cpv.csv", "tried_cpv.csv"):
        labelled(recipe.parent / name, 1, {code: code for code in NAICS}, 30)
    said = RECIPE.replace("[systems.naics]\n", "[systems.naics]\nlearns_from_cpv = 0.5\n")
    recipe.write_text(said + cpv)
    _, (naics, unspsc, _) = read_recipe(recipe, recipe.parent)
    assert naics.task.gains_cpv
    assert not unspsc.task.gains_cpv


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[model]", "[mode]", "is not a valid recipe: 'model'"),
        ("at_least = 2", "at_last = 2", "at_last"),
        ("systems.unspsc", "systems.sitc", "names an unknown system, sitc"),
        ('text = ["entry"]', 'text = ["phrase"]', "phrase"),
        ("split = ", "splits = ", "splits"),
        ('"taught.csv"', '"nowhere.csv"', "nowhere.csv"),
        ("[[networks]]", "[[networks", "is not a valid recipe"),
        ("count = 1", "count = 0", "the count of networks is zero"),
        ("epochs = 1", 'epochs = "1"', "epochs is not a whole number"),
        ("dropout = 0.5", "dropout = [0.5]", "dropout is not a number"),
        ('["taught.csv"]', '"taught.csv"', "in the lists taught and held_back"),
        ("phrase_weight = 0.3", "learns_from_cpv = 1.0", "unspsc learns from CPV"),
        ("notice_share = 0.5", 'notice_share = "often"', "notice_share is not a number"),
        ('["tried.csv"]', "[]", "in the lists taught and held_back"),
        ("[other_languages]", "[other_language]", "it has an unknown table, other_language"),
        ('["tried.csv"]', '["tried_unspsc.csv"]', "has a text and a naics code"),
        (RECIPE[RECIPE.index("[systems") :], "[systems]", "it names no system"),
    ],
)
def test_an_invalid_recipe_is_refused_with_what_is_wrong(
    recipe: Path,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    said: str,
) -> None:
    recipe.write_text(RECIPE.replace(old, new))
    assert main([str(recipe), "--output", "model"]) == 2
    assert said in capsys.readouterr().err
    assert not Path("model").exists()


def test_new_models_replace_old_ones_and_leave_recipe_and_cards(tmp_path: Path) -> None:
    old, new = tmp_path / "shipped", tmp_path / "made"
    for folder, names in ((old, ("a.npy", "model.json", "recipe.toml", "a.md")), (new, ("b.npy",))):
        folder.mkdir()
        for name in names:
            (folder / name).write_text(folder.name)
    (new / "model.json").write_text("new")
    install(new, old)
    assert {each.name: each.read_text() for each in old.iterdir()} == {
        "b.npy": "made",
        "model.json": "new",
        "recipe.toml": "shipped",
        "a.md": "shipped",
    }


def test_the_package_model_is_made_in_steps_that_an_interruption_does_not_repeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def train(recipe: Path, data: Path, output: Path, jobs: int, judges: bool) -> int:
        done.append("networks that judge" if judges else "networks")
        output.mkdir()
        (output / "model.json").write_text('{"kind": "tender-pipeline model"}')
        return 0

    def complete(arguments: list[str]) -> int:
        done.append("complete")
        if done.count("complete") == 1:
            raise KeyboardInterrupt
        Path(arguments[-1]).mkdir()
        (Path(arguments[-1]) / "model.json").write_text("new")
        return 0

    for name, value in (("MADE", tmp_path / "made"), ("SHIPPED", tmp_path), ("_train", train)):
        monkeypatch.setattr(f"workshop.__main__.{name}", value)
    monkeypatch.setattr("workshop.meanings.main", complete)
    with pytest.raises(KeyboardInterrupt):
        main(["--data", "x"])
    assert main(["--data", "x"]) == 0
    assert done == ["networks", "complete", "complete"]
    assert (tmp_path / "model.json").read_text() == "new"
    assert not (tmp_path / "made").exists()


def test_all_models_are_trained_from_a_folder_of_data_alone() -> None:
    with pytest.raises(SystemExit, match="2"):
        main([])
    with pytest.raises(SystemExit, match="2"):
        main(["--data", "x", "--output", "model"])


ENGLISH = ["wheat and grain", "asphalt road paving", "office windows cleaning"]
GERMAN = ["Weizen und Getreide", "Asphaltierung", "Reinigung der Fenster"]
CPV = ["03111000", "45233140", "90910000"]
NOTICE, ASPHALT = "Asphaltdecke erneuern", "45233140"
PSC = {"03111000": "8730", "45233140": "Z2LB", "90910000": "S201"}


def test_a_system_learns_other_languages_from_the_texts_of_cpv() -> None:
    texts, codes = history(100)
    many = task("cpv", [*texts, NOTICE], [*codes, ASPHALT], (ENGLISH + GERMAN, CPV * 2))
    own = task("psc", texts, [PSC[code] for code in codes], ([], []))
    taught_by = replace(own, crosswalk={code: ["0000", PSC[code]] for code in CPV})
    recipe = small(languages=OtherLanguages(1, 1, 1, 1))
    done: list[int] = []
    alone = train([many, own], recipe, ignored)[1].model
    taught = train([many, taught_by], recipe, done.append)[1].model
    assert sum(done) == pytest.approx(work([many, taught_by], recipe), rel=0.05)
    right = [[PSC[code]] for code in CPV]
    assert answers(taught, GERMAN) == right
    assert answers(taught, ENGLISH) == right
    assert (shares_of_right(taught) > shares_of_right(alone)).all()
    assert isinstance(taught.scores, Scorer)
    assert isinstance(alone.scores, Scorer)
    assert alone.scores.prior.tobytes() == taught.scores.prior.tobytes()


def test_titles_and_notices_have_weights_of_their_own_and_general_codes_teach_nothing() -> None:
    vectors = sparse.csr_matrix(np.eye(4, dtype=np.float32))
    codes = np.array(["45000000", "45233140"])
    cpv = TrainingSet(
        vectors,
        np.array([0, 1, 1, 1]),
        np.array([1, 0.5, 1, 1], np.float32),
        np.ones(4),
        tree("cpv", codes.tolist()),
        (),
        np.zeros(4, np.bool_),
        np.zeros(2, np.float32),
    )
    own = replace(cpv, vectors=vectors[:1], labels=np.array([0]), weights=np.ones(1, np.float32))
    own = replace(own, shares=np.ones(1), partial=np.zeros(1, np.bool_))
    settings = OtherLanguages(0.3, 0.4, 0.6, 0.8)
    crosswalk = {"45233140": ["Z2LB"]}
    found = with_other_languages(
        own, np.array(["Y1LB", "Z2LB"]), cpv, codes, 2, crosswalk, settings
    )
    assert found.labels.tolist() == [0, 1, 1, 1]
    assert found.vectors.toarray().argmax(axis=1).tolist() == [0, 1, 2, 3]
    assert found.weights == pytest.approx([1, 0.3, 0.3, 0.3])
    assert found.shares == pytest.approx([1, 0.8, 0.4, 0.4])


def shares_of_right(model: Model) -> Floats:
    shares, _ = model.scores.shares(EncodedBatch(count(GERMAN)))
    places = [model.codes.tolist().index(PSC[code]) for code in CPV]
    found: Floats = shares[np.arange(3), places]
    return found
