from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from pipeline.engine.model import Model
from pipeline.engine.model.encoder import Reading
from pipeline.engine.model.features import count
from pipeline.engine.model.matrices import Floats
from pipeline.engine.model.scorer import Scorer
from pipeline.engine.training.network import TrainingSet
from pipeline.engine.training.train import tree
from tests.engine.model.training_data import answers, history, ignored
from tests.workshop.tasks import small, task
from workshop.training import OtherLanguages, train, with_other_languages, work

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
    shares, _ = model.scores.shares(Reading(lambda encoder: encoder.encode(count(GERMAN))))
    places = [model.codes.tolist().index(PSC[code]) for code in CPV]
    found: Floats = shares[np.arange(3), places]
    return found
