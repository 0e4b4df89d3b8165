from __future__ import annotations

import pytest

from pipeline.cli.output.ledger import iso, utc


@pytest.mark.parametrize(
    ("seconds", "for_people", "in_json"),
    [
        (None, "", None),
        (1769825700.25, "2026-01-31 02:15:00", "2026-01-31T02:15:00.250000+00:00"),
        (1e300, "no time", "no time"),
        (float("nan"), "no time", "no time"),
    ],
)
def test_times_are_in_utc_and_damaged_ones_are_called_so(
    seconds: float | None, for_people: str, in_json: str | None
) -> None:
    assert (utc(seconds), iso(seconds)) == (for_people, in_json)
