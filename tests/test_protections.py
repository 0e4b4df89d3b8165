"""The protections that `scripts/check_protections.py` removes."""

from __future__ import annotations

from pathlib import Path

from protections import PROTECTIONS

import pipeline


def test_each_quotes_one_place_of_the_package() -> None:
    """The script says the same, but only after a change has left a machine."""
    sources = [path.read_text("utf-8") for path in Path(pipeline.__file__).parent.rglob("*.py")]
    places = {
        each.name: sum(source.count(each.intact) for source in sources) for each in PROTECTIONS
    }
    assert {name: count for name, count in places.items() if count != 1} == {}
