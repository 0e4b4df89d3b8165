"""An argument has one spelling, and an error names it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from inspect import signature
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import pipeline
import pipeline.spark
from pipeline.answers import SYSTEMS
from pipeline.cli.run_options import PaidOptions, RunOptions
from pipeline.settings import Settings

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
    found = pipeline.evaluate(FRAME, system="psc", text_columns="title")
    assert found.settings.system == "psc"
    for wrong in ("psc,cpv", "", None):
        with pytest.raises(pipeline.SettingsError, match="system"):
            pipeline.evaluate(FRAME, system=wrong, text_columns="title")


DIFFERENT = {"jobs"}
"""On the command line, the size of the table decides how many processes there are."""


def declared(options: type) -> dict[str, Any]:
    """Return the defaults of the options that a dataclass declares."""
    stated = {each.name: each.metadata.get("option") for each in fields(options)}
    return {name: option.get("default") for name, option in stated.items() if option}


def plain(default: Any) -> Any:
    """Return a default as Python states it, and None for whatever is empty."""
    if default == ",".join(SYSTEMS):
        return SYSTEMS
    if isinstance(default, list):
        return tuple(default)
    if isinstance(default, Decimal):
        return str(default)
    return default if isinstance(default, str | int | float | tuple) and default else None


@pytest.mark.parametrize(
    ("options", "function"),
    [
        (RunOptions, pipeline.classify),
        (RunOptions, pipeline.Classifier),
        (RunOptions, pipeline.spark.classify),
        (RunOptions, Settings),
        (PaidOptions, pipeline.PaidService),
    ],
    ids=lambda each: each.__name__,
)
def test_an_argument_has_the_default_of_its_option(
    options: type, function: Callable[..., Any]
) -> None:
    here, there = declared(options), signature(function).parameters
    both = here.keys() & there.keys() - DIFFERENT
    assert len(both) > 8
    assert {name: plain(here[name]) for name in both} == {
        name: plain(there[name].default) for name in both
    }
