"""The languages of the CPV titles."""

from __future__ import annotations

import pytest

from pipeline.codes import cpv_titles, shipped, titles_in
from pipeline.errors import SettingsError
from pipeline.languages import LANGUAGES, checked_language


def test_they_are_those_of_the_shipped_titles() -> None:
    assert set(cpv_titles()) == set(LANGUAGES)
    assert titles_in("en") == shipped("cpv").titles
    assert titles_in("de")["45233140"] == "Straßenarbeiten"


@pytest.mark.parametrize("value", ["ger", "", None, 7, "deutsch"])
def test_an_unknown_one_is_refused_with_the_known_ones(value: object) -> None:
    with pytest.raises(SettingsError) as caught:
        checked_language(value)
    assert repr(value) in caught.value.message
    assert "bg, cs, da, de, el, en, es," in caught.value.hint
    assert checked_language(" DE ") == "de"
