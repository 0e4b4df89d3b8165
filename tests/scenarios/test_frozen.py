"""Moving and renaming what is inside changes nothing that scripts rely on."""

from __future__ import annotations

import json

import pytest

from tests.scenarios.frozen import FILE, frozen

KEPT = json.loads(FILE.read_text("utf-8"))


@pytest.fixture(scope="module")
def today() -> dict[str, object]:
    found: dict[str, object] = frozen()
    return found


@pytest.mark.parametrize("part", sorted(KEPT))
def test_what_scripts_rely_on_is_as_it_was(part: str, today: dict[str, object]) -> None:
    """`python -m tests.scenarios.frozen` writes a change down that is meant."""
    assert today[part] == KEPT[part]


def test_everything_is_frozen(today: dict[str, object]) -> None:
    assert set(today) == set(KEPT)
