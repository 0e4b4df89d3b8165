from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import SettingsError
from pipeline.rate import AUTHENTICATED, DEMO, Rate, parse_rate, seconds


@pytest.mark.parametrize(
    ("text", "slots", "window"),
    [
        ("250/min", 250, 60.0),
        ("10/hour", 10, 3600.0),
        ("60/6s", 60, 6.0),
        ("1000/day", 1000, 86400.0),
        ("5/1.5s", 5, 1.5),
        ("3 / 2 hours", 3, 7200.0),
        (" 7/H ", 7, 3600.0),
    ],
)
def test_a_rate_is_attempts_per_window(text: str, slots: int, window: float) -> None:
    assert parse_rate(text) == Rate(slots, window)
    assert parse_rate("none") is parse_rate(" None ") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "100",
        "/min",
        "100/",
        "100/week",
        "-1/min",
        "1.5/min",
        "1/1e3s",
        "100 per minute",
        "1/infs",
        "٣/min",
        "9999999999/s",
    ],
)
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(SettingsError) as error:
        parse_rate(text)
    assert repr(text) in error.value.message
    assert "100/min" in error.value.hint and "none" in error.value.hint


@pytest.mark.parametrize("text", ["0/min", "1/0s", "1/0.0005s", "1/367days"])
def test_a_rate_that_cannot_be_kept_is_refused(text: str) -> None:
    with pytest.raises(SettingsError) as error:
        parse_rate(text)
    assert "100/min" in error.value.hint


@pytest.mark.parametrize("window", [float("nan"), float("inf"), -1.0])
def test_a_window_is_a_length_of_time(window: float) -> None:
    with pytest.raises(SettingsError):
        Rate(1, window)


@pytest.mark.parametrize(
    ("rate", "form"),
    [
        (AUTHENTICATED, "100/min"),
        (DEMO, "10/hour"),
        (Rate(60, 6), "60/6s"),
        (Rate(9, 172800), "9/2day"),
        (Rate(5, 0.25), "5/0.25s"),
    ],
)
def test_a_rate_prints_in_the_form_that_is_typed(rate: Rate, form: str) -> None:
    assert str(rate) == form


@given(
    slots=st.integers(1, 999_999_999),
    window=st.integers(1, 366 * 86400) | st.integers(1, 99_999).map(lambda n: n / 1000),
)
def test_what_is_printed_can_be_typed(slots: int, window: float) -> None:
    assert parse_rate(str(Rate(slots, window))) == Rate(slots, window)


def test_a_slot_is_held_a_window_after_the_answer_and_longer_after_a_loss() -> None:
    window = DEMO.hold
    assert 3600 < window < 3604
    assert DEMO.answered_until(5.0) == 5.0 + window
    assert DEMO.lost_until(5.0) == 5.0 + 3600 + window


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("60s", 60),
        ("5m", 300),
        ("90min", 5400),
        (" 6 H ", 21600),
        ("30days", 2592000),
        ("1.5s", 1.5),
        (timedelta(minutes=1.5), 90),
    ],
)
def test_a_duration_has_the_units_of_a_rate(text: str | timedelta, length: float) -> None:
    assert seconds("timeout", text) == length


@pytest.mark.parametrize(
    "text",
    ["", "60", "min", "3w", "-1s", "1e3s", "٣s", ".5s", "9999999999s", "1/min", timedelta(-1)],
)
def test_anything_else_is_not_a_duration(text: str | timedelta) -> None:
    with pytest.raises(SettingsError) as error:
        seconds("timeout", text)
    assert repr(text) in error.value.message
    assert "60s, 5m" in error.value.hint and "TENDER_PIPELINE_TIMEOUT" in error.value.hint
