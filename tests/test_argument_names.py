"""An argument has one spelling, and an error names it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import pipeline
import pipeline.spark

FRAME = pd.DataFrame({"title": ["Office chairs"], "code": ["7110"]})
NO_SPARK = SimpleNamespace(mapInArrow=None, schema=None)
"""What passes for a Spark DataFrame as long as only arguments are checked."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "classify": lambda **names: pipeline.classify(FRAME, **names),
    "plan": lambda **names: pipeline.plan(FRAME, **names),
    "evaluate": lambda **names: pipeline.evaluate(FRAME, **names),
    "train": lambda **names: pipeline.train(FRAME, output="model", **names),
    "Classifier": pipeline.Classifier,
    "spark.classify": lambda **names: pipeline.spark.classify(NO_SPARK, **names),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_another_spelling_of_an_argument_is_an_error_that_names_the_right_one(name: str) -> None:
    takes_one = name in ("evaluate", "train")
    right, wrong = ("system", "systems") if takes_one else ("systems", "system")
    for given, meant in ((wrong, right), ("text_column", "text_columns")):
        with pytest.raises(TypeError, match=f"has no argument '{given}'") as caught:
            FUNCTIONS[name](**{given: "psc"})
        assert f"Did you mean {meant}" in str(caught.value)


def test_an_evaluation_takes_a_list_with_one_system_only() -> None:
    found = pipeline.evaluate(FRAME, system="psc", text_columns="title", subject="lexical")
    assert found.settings.system == "psc"
    for wrong in ("psc,cpv", "", None):
        with pytest.raises(pipeline.SettingsError, match="system"):
            pipeline.evaluate(FRAME, system=wrong, text_columns="title")
