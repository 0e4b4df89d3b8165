"""The words for what a code is worth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.answers import BANDS, LIKELY, MEASURED, SURE, SYSTEMS, band

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
    table = ACCURACY.read_text("utf-8").split("## Sure, likely, doubtful")[1].split("\n## ")[0]
    measured = [line.split(" | ")[1:] for line in table.splitlines() if line.startswith("| `")]
    assert len(measured) == len(SYSTEMS)
    for name, cells in zip(BANDS, zip(*measured, strict=True), strict=True):
        shares = [int(found[1]) for cell in cells if (found := re.match(r"(\d+) % accepted", cell))]
        assert len(shares) >= 2, "hardly any code of the other systems is in the band"
        some, of = map(int, MEASURED[name].split(" in "))
        assert max(abs(share - 100 * some / of) for share in shares) <= 5
