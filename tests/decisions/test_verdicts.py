"""What a decision says of other codes than the chosen one, and lines with verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.classification.corrections import decisions_in
from pipeline.decisions.decision import Decision
from pipeline.errors import InputError
from tests.decisions.samples import chose, nothing_fits


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("45233100", "accepted"),
        ("45233140", "accepted"),
        ("45233000", "general"),
        ("45000000", "general"),
        ("45234000", "wrong"),
    ],
)
def test_a_chosen_code_accepts_what_is_below_it(code: str, verdict: str) -> None:
    assert chose("road", "45233100").verdict(code) == verdict


def test_every_code_is_wrong_for_a_text_that_none_fits() -> None:
    assert nothing_fits("road").verdict("45000000") == "wrong"


def test_a_list_of_what_was_judged_says_all() -> None:
    decision = chose(
        *("road", "45233140"),
        accepted=("45233141",),
        general=("45000000",),
        candidates=("45233140", "39000000"),
    )
    codes = ["45233140", "45233141", "45000000", "39000000", "45233100", "45233142"]
    said = [decision.verdict(code) for code in codes]
    assert said == ["accepted", "accepted", "general", "wrong", "unjudged", "unjudged"]
    assert Decision.of_line(decision.to_line()) == [decision]


def test_a_review_writes_no_empty_lists() -> None:
    assert (
        not {"accepted", "general", "candidates"}
        & json.loads(chose("a", "45000000").to_line()).keys()
    )


JUDGED: dict[str, Any] = {
    "text": "Road  works\n",
    "systems": {
        "cpv": {
            "best": "45233140",
            "accepted": ["45233140"],
            "other": ["45233141"],
            "general": ["45000000"],
            "candidates": ["45233140", "45000000", "39000000"],
        },
        "psc": {"best": None, "accepted": [], "general": [], "candidates": ["7110"]},
        "naics": {"unknowable": True},
    },
}


def written(path: Path, line: object) -> Path:
    path.write_text(json.dumps(line) + "\n", "utf-8")
    return path


def test_a_line_with_verdicts_is_a_decision_in_each_system(tmp_path: Path) -> None:
    found = decisions_in(written(tmp_path / "judged.jsonl", JUDGED), print)
    cpv, psc = found.of("cpv", "Road works"), found.of("psc", "Road works")
    assert cpv is not None
    assert psc is not None
    codes = ["45233140", "45233141", "45000000", "39000000", "03000000"]
    said = [cpv.verdict(code) for code in codes]
    assert said == ["accepted", "accepted", "general", "wrong", "unjudged"]
    assert (psc.choice, psc.verdict("7110"), psc.verdict("7125")) == ("none", "wrong", "unjudged")
    assert found.of("naics", "Road works") is None
    assert len(found.skipped) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"systems": []}, "Expected `object`, got `array` in `systems`"),
        ({"systems": {"cpv": "45"}}, "Expected `object`, got `str` in `systems"),
        ({"systems": {"isic": {}}}, "Invalid enum value 'isic' in `key` in `systems`"),
        ({"systems": {"cpv": {"general": "45"}}}, "Expected `array`, got `str` in `systems"),
        ({"systems": {"cpv": {"other": None}}}, "Expected `array`, got `null` in `systems"),
        ({"systems": {"cpv": {"accepted": ["road"]}}}, "its code 'road' is not a cpv code"),
        ({"text": 1}, "Expected `str`, got `int` in `text`"),
    ],
)
def test_a_malformed_line_with_verdicts_says_what_is_wrong(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "judged.jsonl", JUDGED | change)
    with pytest.raises(InputError, match=f"line 1, is not a decision: {said}"):
        decisions_in(path, print)
