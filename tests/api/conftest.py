"""A data frame with the difficulties of real ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

TEXTS = ["Road marking and traffic signs", None, "Office chairs", "Office chairs"]


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "description": TEXTS,
            "n": pd.array([1, None, 3, 4], dtype="Int8"),
            "mixed": [1, "two", 3.0, {"four": 4}],
            "when": pd.Series(
                ["2026-01-01", None, "2026-03-01", "2026-04-01"], dtype="datetime64[us]"
            ),
            "kind": pd.Categorical(["a", "b", "a", None]),
            5: np.arange(4, dtype="float32"),
        },
        index=pd.Index([7, 7, 1, 0], name="key"),
    )
