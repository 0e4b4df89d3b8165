from __future__ import annotations

import numpy as np
import pytest

from pipeline.checks import check_flag, whole_number
from pipeline.errors import SettingsError


def test_whole_numbers_of_numpy_become_pythons_own() -> None:
    assert type(whole_number("top", np.int64(3), 1, 10)) is int


@pytest.mark.parametrize("value", [0, 11, 1.0, True, "3", None])
def test_a_wrong_whole_number_is_refused_with_its_bounds(value: object) -> None:
    with pytest.raises(SettingsError) as error:
        whole_number("top", value, 1, 10)
    assert error.value.message == f"top is {value!r}."
    assert error.value.hint == "top must be a whole number from 1 to 10 (--top)."


def test_without_an_upper_bound_none_is_named() -> None:
    with pytest.raises(SettingsError, match=r"from 0 \(--limit-rows\)"):
        whole_number("limit_rows", -1, 0)


def test_a_flag_is_true_or_false() -> None:
    check_flag("wait", False)
    with pytest.raises(SettingsError, match="wait must be True or False"):
        check_flag("wait", "no")
