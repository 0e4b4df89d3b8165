"""The words for what a code is worth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.answers import SYSTEMS
from pipeline.bands import BANDS, LIKELY, MEASURED, SURE, band

ACCURACY = Path(__file__).parents[1] / "docs" / "explanation" / "accuracy.md"


def test_each_band_begins_at_its_confidence() -> None:
    assert [band(each) for each in (1.0, SURE)] == ["sure"] * 2
    assert [band(each) for each in (SURE - 1e-9, LIKELY)] == ["likely"] * 2
    assert [band(each) for each in (LIKELY - 1e-9, 0.0)] == ["doubtful"] * 2


@pytest.mark.parametrize("confidence", [85.0, 1.01, -0.5, float("nan"), float("inf")])
def test_a_confidence_on_another_scale_says_nothing_so_the_code_is_doubtful(
    confidence: float,
) -> None:
    assert band(confidence) == "doubtful"


def test_the_documentation_has_the_measurements_and_the_words_agree_with_them() -> None:
    table = re.findall(r"^\| `\w+` \| (.*) \|$", ACCURACY.read_text("utf-8"), re.MULTILINE)
    cells = [re.findall(r"(\d+) % accepted", line) for line in table]
    measured = [list(map(int, each)) for each in cells if each]
    assert len(measured) == len(SYSTEMS)
    for name, shares in zip(BANDS, zip(*measured, strict=True), strict=True):
        first, *_, last = re.findall(r"\d+", MEASURED[name].removesuffix(" in 10")) * 2
        assert int(first) - 0.5 <= min(shares) / 10 <= max(shares) / 10 <= int(last) + 0.5
