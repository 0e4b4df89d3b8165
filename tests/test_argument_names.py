"""Text columns and systems may be given by their name in the singular or the plural."""

from __future__ import annotations

import inspect
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
def test_both_names_of_an_argument_at_once_are_refused(name: str) -> None:
    only_psc = {"system": "psc"} if name in ("evaluate", "train") else {"systems": "psc"}
    for both in (
        {"text_columns": "description", "text_column": "title", **only_psc},
        {"text_column": "title", "systems": "psc", "system": "cpv"},
    ):
        with pytest.raises(pipeline.SettingsError, match="are the same argument") as caught:
            FUNCTIONS[name](**both)
        assert caught.value.hint == "Give one of them."


@pytest.mark.anyio
async def test_the_singular_does_what_the_plural_does() -> None:
    plural = {"systems": ["psc"], "text_columns": ["title"]}
    singular = {"system": "psc", "text_column": "title"}
    expected = pipeline.classify(FRAME, **plural).to_pandas()  # type: ignore[arg-type]
    for found in (
        pipeline.classify(FRAME, **singular),  # type: ignore[arg-type]
        await pipeline.classify_async(FRAME, **singular),  # type: ignore[arg-type]
    ):
        pd.testing.assert_frame_equal(found.to_pandas(), expected)
        pd.testing.assert_frame_equal(found.to_review(system="psc"), found.to_review("psc"))
        with pytest.raises(pipeline.SettingsError, match="Give one of them"):
            found.to_review("psc", system="psc")
    assert "psc_code" in expected
    assert "cpv_code" not in expected
    assert str(pipeline.plan(FRAME, **singular)) == str(pipeline.plan(FRAME, **plural))  # type: ignore[arg-type]
    made, other = pipeline.Classifier(**singular), pipeline.Classifier(**plural)  # type: ignore[arg-type]
    assert made.settings == other.settings


def test_an_evaluation_takes_a_list_with_one_system_only() -> None:
    found = pipeline.evaluate(FRAME, systems=["psc"], text_column="title", subject="lexical")
    assert found.settings.system == "psc"
    for system in pd.Series(["psc"]):  # a str for type checkers, as from any table
        again = pipeline.evaluate(FRAME, system=system, text_column="title", subject="lexical")
        assert again.settings == found.settings
    for wrong in (["psc", "cpv"], "psc,cpv", [], None):
        with pytest.raises(pipeline.SettingsError, match="system"):
            pipeline.evaluate(FRAME, systems=wrong, text_column="title")


def test_every_public_function_on_tables_has_both_names() -> None:
    public = {name: getattr(pipeline, name) for name in pipeline.__all__}
    with_texts = [
        name
        for name, each in public.items()
        if callable(each) and "text_columns" in inspect.signature(each).parameters
    ]
    functions = {"classify", "classify_async", "evaluate", "plan", "train"}
    assert {*with_texts} == {"Classifier", *functions}
    for name in with_texts:
        assert {"text_column", "system", "systems"} <= {*inspect.signature(public[name]).parameters}
