"""Which confidence is enough for the status `ok`."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline.answers import OK_FROM, SYSTEMS
from pipeline.classification.columns import never_ok, review_under
from pipeline.engine.model import model_folder, save
from pipeline.settings import Settings
from tests.engine.model.training_data import taught


def test_what_is_sure_enough_is_measured_for_the_engine_and_given_for_a_service() -> None:
    assert [review_under(Settings(), system) for system in SYSTEMS] == [*OK_FROM.values()]
    assert set(OK_FROM) == set(SYSTEMS)
    assert review_under(Settings(min_confidence=0), "psc") == 0
    assert review_under(Settings(roll_up=0.9), "cpv") == 0.9
    assert review_under(Settings(roll_up=0.2, min_confidence=0.5), "cpv") == 0.5
    assert review_under(Settings().for_service(), "psc") == 0
    assert review_under(Settings(min_confidence=0.3).for_service(), "psc") == 0.3


@pytest.mark.parametrize(
    ("ok", "under"),
    [
        ({"confidence": 0.61, "right_at_least": 0.67}, 0.61),
        ({"confidence": None, "right_at_least": 0.0}, inf),
        ({"confidence": 0.97, "rows": 0.02, "right": 0.3}, inf),  # of a version without evidence
        ({"confidence": 5, "right_at_least": 0.67}, inf),
        (None, inf),
    ],
)
@pytest.mark.parametrize("of_recipe", [True, False])
def test_a_learned_model_has_the_threshold_that_its_held_out_rows_showed(
    tmp_path: Path, ok: Mapping[str, Any] | None, under: float, of_recipe: bool
) -> None:
    about = {"held_back": {"ok": ok}}
    save([taught().model], tmp_path / "m", {"cpv": about} if of_recipe else about)
    model = model_folder(tmp_path / "m")
    settings = Settings(models={str(model.path): model.sha256})
    assert review_under(settings, "cpv") == under
    assert review_under(settings, "psc") == OK_FROM["psc"]  # the package's model answers
    warnings = [*never_ok(settings)]
    assert [line.partition(":")[0] for line in warnings] == ["No cpv code will be ok"] * (
        under == inf
    )
    chosen = Settings(models=settings.models, min_confidence=0.4)
    assert review_under(chosen, "cpv") == 0.4
    assert not [*never_ok(chosen)]


def test_a_run_and_a_plan_say_before_the_work_that_nothing_will_be_ok(tmp_path: Path) -> None:
    save([taught().model], tmp_path / "m", {})
    options: dict[str, Any] = {"systems": "cpv", "models": tmp_path / "m"}
    texts = ["wheat grain barley", "paving of a road"]
    with pytest.warns(UserWarning, match=r"No cpv code will be ok: .*: min_confidence\.$"):
        found = pipeline.classify(texts, **options)
    assert found.table["cpv_status"].to_pylist() == ["review", "review"]
    with pytest.warns(UserWarning, match="No cpv code will be ok"):
        pipeline.plan(texts, **options)
    found = pipeline.classify(texts, **options, min_confidence=0.2)
    assert found.table["cpv_status"].to_pylist() == ["ok", "ok"]
