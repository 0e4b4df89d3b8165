from __future__ import annotations

from typing import Any

import pytest

from pipeline.errors import SettingsError
from pipeline.settings import CsvOptions, Settings, parse_systems


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"systems": ("cpvv",)}, "Choose from cpv, psc, unspsc, naics"),
        ({"systems": ()}, "Choose from"),
        ({"systems": ("cpv", "cpv")}, "Name each system once"),
        ({"text_columns": ()}, "--text-column NAME"),
        ({"text_columns": ("a", "a")}, "Name each --text-column once"),
        ({"top": 0}, "from 1 to 10"),
        ({"top": 11}, "from 1 to 10"),
        ({"min_confidence": 1.5}, "from 0 to 1"),
        ({"min_confidence": float("nan")}, "from 0 to 1"),
        ({"jobs": 0}, "from 1"),
        ({"limit_rows": -1}, "from 0"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_would_be_right(
    settings: dict[str, Any], hint: str
) -> None:
    with pytest.raises(SettingsError) as refusal:
        Settings(**settings)
    assert hint in refusal.value.hint


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"delimiter": ""}, "one character"),
        ({"delimiter": ";;"}, "one character"),
        ({"delimiter": '"'}, "one character"),
        ({"delimiter": "\n"}, "one character"),
        ({"encoding": "klingon"}, "cp1252"),
        ({"encoding": "rot13"}, "cp1252"),
    ],
)
def test_a_wrong_csv_option_is_refused(options: dict[str, Any], hint: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        CsvOptions(**options)
    assert hint in refusal.value.hint


@pytest.mark.parametrize("name", ["tab", "\\t", "\t"])
def test_tab_has_a_name(name: str) -> None:
    assert CsvOptions(delimiter=name).delimiter == "\t"


def test_systems_keep_the_order_they_are_given_in() -> None:
    assert parse_systems(" NAICS, cpv") == ("naics", "cpv")
    assert parse_systems(["unspsc"]) == ("unspsc",)
