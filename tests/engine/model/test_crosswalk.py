"""What CPV says about the codes of another system, for texts that close the gate."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from pipeline.answers import System
from pipeline.codes import counterparts
from pipeline.engine.model import general_model, load_model, shipped_model
from pipeline.engine.model.arrays import Floats
from pipeline.engine.model.crosswalk import Crosswalk
from pipeline.engine.model.features import count
from pipeline.engine.model.folder import PUBLISHERS
from pipeline.engine.model.loading import opened
from pipeline.engine.model.model import Model
from pipeline.engine.model.reading import Reading
from pipeline.engine.model.scorer import Blend, Scorer
from pipeline.errors import SettingsError
from tests.engine.model.spoiling import Spoil, about, element, rewritten, say
from workshop.training import best_counterparts


@dataclass(eq=False)
class Cpv:
    """A model of four CPV codes, which gives every text the same shares."""

    asked: list[int] = field(default_factory=list)

    def shares(self, read: Reading) -> tuple[Floats, Floats]:
        texts = len(read(general().encoder).hidden)
        self.asked.append(texts)
        return np.tile(np.array([0.4, 0.3, 0.2, 0.1], np.float32), (texts, 1)), np.ones(texts)


COUNTERPARTS = np.array([2, 0, 2, -1])
"""Two CPV codes have the third code as their counterpart, one the first, and one none."""


def general() -> Scorer:
    scores = load_model(general_model(), "cpv").scores
    assert isinstance(scores, Scorer)
    return scores


def reading(texts: int) -> Reading:
    return Reading(lambda encoder: encoder.encode(count(["anything"] * texts)))


def even(texts: int) -> Floats:
    return np.full((texts, 4), 0.25, np.float32)


def test_the_shares_of_cpv_codes_go_to_their_counterparts() -> None:
    shares = even(1)
    Crosswalk(Cpv(), COUNTERPARTS, 0.5).mix(shares, np.zeros(1), reading(1))
    left = 1 - 0.5 * 0.9  # the code without a counterpart says nothing
    assert shares[0].tolist() == pytest.approx(
        [0.25 * left + 0.15, 0.25 * left, 0.25 * left + 0.3, 0.25 * left]
    )
    assert shares.sum() == pytest.approx(1)


def test_a_text_that_opens_the_gate_is_left_alone_and_cpv_not_asked_about_it() -> None:
    cpv, shares = Cpv(), even(3)
    Crosswalk(cpv, COUNTERPARTS, 0.5).mix(shares, np.array([1.0, 0.0, 0.5]), reading(3))
    assert (shares == 0.25).all(axis=1).tolist() == [True, False, True]
    assert cpv.asked == [1]
    Crosswalk(cpv, COUNTERPARTS, 0.5).mix(shares, np.ones(3), reading(3))
    assert cpv.asked == [1]


def test_shares_that_cpv_gave_for_all_texts_are_not_asked_for_again() -> None:
    cpv, read, openness = Cpv(), reading(4), np.array([0.0, 1.0, 0.0, 0.2])
    alone, together = even(4), even(4)
    Crosswalk(cpv, COUNTERPARTS, 0.5).mix(alone, openness, reading(4))
    read.kept(cpv.shares)
    asked = len(cpv.asked)
    Crosswalk(cpv, COUNTERPARTS, 0.5).mix(together, openness, read)
    assert len(cpv.asked) == asked
    assert together.tobytes() == alone.tobytes()


@pytest.mark.parametrize("system", ["unspsc", "naics"])
def test_the_shipped_models_ask_the_general_one_by_the_crosswalk_of_the_package(
    system: System,
) -> None:
    model = shipped(system)
    assert isinstance(model.scores, Blend)
    walk, cpv = model.scores.crosswalk, load_model(general_model(), "cpv")
    assert walk is not None
    assert walk.cpv is cpv
    codes = model.scores.other.codes
    best = best_counterparts(counterparts(model.system), cpv.codes, codes)
    assert walk.counterparts.tolist() == best.tolist()
    assert (best >= 0).mean() > 0.9


@pytest.mark.parametrize("system", ["unspsc", "naics"])
def test_a_text_gets_the_same_code_alone_with_others_and_after_cpv(system: System) -> None:
    texts = [f"{text} {number}" for number in range(20) for text in ("Streusalz", "Laptops")]
    model, cpv = shipped(system), load_model(general_model(), "cpv")
    together = answers(model, texts)
    assert [answers(model, [text])[0] for text in texts[:12]] == together[:12]
    cpv.predict(texts, 5)
    assert answers(model, texts) == together


def answers(model: Model, texts: list[str]) -> list[list[tuple[int, float]]]:
    places, sure = model.predict(texts, 5)
    rows = zip(places.tolist(), sure.tolist(), strict=True)
    return [list(zip(*row, strict=True)) for row in rows]


def shipped(system: System) -> Model:
    return load_model(shipped_model(system), system)


def weight(value: object) -> Spoil:
    def spoil(folder: Path) -> None:
        whole = about(folder)
        whole["systems"]["unspsc"]["weight_of_cpv"] = value
        say(folder, whole)

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        weight(None),
        weight("0.5"),
        weight(2),
        weight(float("nan")),
        element("unspsc.counterparts", 0, 60_000),
        element("unspsc.counterparts", 0, -2),
        rewritten("unspsc.counterparts", lambda a: a[1:]),
        rewritten("unspsc.counterparts", lambda a: a.astype("f4")),
    ],
)
def test_a_spoilt_crosswalk_is_refused_in_a_sentence(tmp_path: Path, spoil: Spoil) -> None:
    folder = Path(shutil.copytree(PUBLISHERS["unspsc"], tmp_path / "model"))
    opened([str(folder)], ["unspsc"])
    spoil(folder)
    with pytest.raises(SettingsError):
        opened([str(folder)], ["unspsc"])
