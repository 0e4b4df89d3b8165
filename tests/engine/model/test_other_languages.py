from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pipeline.engine.model import Model
from pipeline.engine.model.arrays import Floats
from pipeline.engine.model.features import count
from pipeline.engine.model.scorer import Scorer
from pipeline.engine.training.train import train, work
from tests.engine.model.test_train import answers, small, task
from tests.engine.model.training_data import history, ignored

ENGLISH = ["wheat and grain", "asphalt road paving", "office windows cleaning"]
GERMAN = ["Weizen und Getreide", "Asphaltierung", "Reinigung der Fenster"]
CPV = ["03111000", "45233140", "90910000"]
PSC = {"03111000": "8730", "45233140": "Z2LB", "90910000": "S201"}


def test_a_system_learns_other_languages_from_the_phrases_of_another_system() -> None:
    texts, codes = history(100)
    many = replace(task("cpv", texts, codes, (ENGLISH + GERMAN, CPV * 2)), titles=3)
    own = task("psc", texts, [PSC[code] for code in codes], ([], []))
    taught_by = replace(own, learns_from="cpv")
    done: list[int] = []
    alone = train([many, own], small(), ignored)[1].model
    taught = train([many, taught_by], small(), done.append)[1].model
    assert sum(done) == pytest.approx(work([many, taught_by], small()), rel=0.05)
    right = [[PSC[code]] for code in CPV]
    assert answers(taught, GERMAN) == right
    assert answers(taught, ENGLISH) == right
    assert (shares_of_right(taught) > shares_of_right(alone)).all()
    assert isinstance(taught.scores, Scorer)
    assert isinstance(alone.scores, Scorer)
    assert alone.scores.prior.tobytes() == taught.scores.prior.tobytes()


def shares_of_right(model: Model) -> Floats:
    shares, _ = model.scores.shares(lambda encoder: encoder.hidden(count(GERMAN)))
    places = [model.codes.tolist().index(PSC[code]) for code in CPV]
    found: Floats = shares[np.arange(3), places]
    return found
