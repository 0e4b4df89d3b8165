"""Frames keep their labels, index and dtypes, and get new columns that pandas users expect."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pipeline
from tests.api.conftest import TEXTS


@pytest.mark.parametrize(
    ("columns", "text_column"),
    [
        (pd.MultiIndex.from_tuples([("a", "x"), ("a", None)], names=["m", "n"]), "('a', 'x')"),
        (pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=[None, "n"]), "('a', 1)"),
        (pd.Index(["description", "other"], name="what"), "description"),
        (pd.CategoricalIndex(["description", "other"], name="what"), "description"),
        (pd.Index(["description", None], dtype=object), "description"),
        (pd.Index(["description", float("nan")], dtype=object), "description"),
        (pd.Index(["description", "x\ud800"], dtype=object), "description"),
        (pd.RangeIndex(2), "0"),
        (pd.date_range("2026-01-01", periods=2), "2026-01-01 00:00:00"),
    ],
)
def test_columns_keep_their_labels_whatever_they_are(
    columns: pd.Index[Any], text_column: str
) -> None:
    frame = pd.DataFrame([["Road marking", 1], ["Office chairs", 2]], columns=columns)
    frame.attrs["owner"] = "us"
    result = pipeline.classify(frame, systems="psc", text_columns=text_column, min_confidence=0)
    enriched = result.to_pandas()
    kept, new = enriched.columns[:2], enriched.columns[2:]
    assert [repr(label) for label in kept] == [repr(label) for label in columns]
    first = new[0][0] if isinstance(columns, pd.MultiIndex) else new[0]
    assert (first, enriched.columns.nlevels) == ("psc_code", columns.nlevels)
    assert enriched.columns.names == columns.names
    assert enriched.attrs == {"owner": "us"}
    assert enriched.iloc[:, 1].tolist() == [1, 2]
    assert enriched.iloc[:, 5].tolist() == ["ok", "ok"]
    assert "Road marking" in result._repr_html_()


def test_labels_with_levels_are_padded_with_nothing() -> None:
    frame = pd.DataFrame({("description", "en", "x"): ["Road marking"]})
    text_column = "('description', 'en', 'x')"
    result = pipeline.classify(frame, systems="psc", text_columns=text_column, min_confidence=0)
    enriched = result.to_pandas()
    assert enriched["psc_status", "", ""].tolist() == ["ok"]
    again = frame.copy()
    again["psc_code", "", ""] = 1
    with pytest.raises(pipeline.SettingsError, match="'psc_code'"):
        pipeline.classify(again, systems="psc", text_columns=text_column)


def test_a_later_change_of_the_frame_does_not_reach_the_result(frame: pd.DataFrame) -> None:
    """Only pandas before 3 would let it."""
    result = pipeline.classify(frame, systems="psc")
    frame.iloc[0, 0] = "Office chairs"
    assert result.to_pandas()["description"].iloc[0] == TEXTS[0]
    assert "Road marking" in result._repr_html_()


def test_half_a_surrogate_pair_stays_in_the_frame_and_the_row_is_classified() -> None:
    texts = pd.Series(["Road marking \ud800", None, "Office chairs"], dtype=object)
    result = pipeline.classify(
        pd.DataFrame({"description": texts}), systems="psc", min_confidence=0
    )
    enriched = result.to_pandas()
    assert enriched["description"].tolist() == texts.tolist()
    assert enriched["psc_status"].tolist() == ["ok", "empty", "ok"]
    with pytest.raises(pipeline.InputError, match="Arrow cannot hold this frame") as refusal:
        _ = result.table
    refusal.value.message.encode()


@pytest.mark.parametrize(
    "tender", [{"title": "Road marking", "lots": [{"title": "paint"}]}, '{"title": "Road marking"}']
)
def test_a_text_can_be_a_field_of_objects_or_of_json(tender: Any) -> None:
    frame = pd.DataFrame({"code": ["H245", "", "H245"], "tender": [tender, None, tender]})
    columns = ["tender.title", "code"]
    result = pipeline.classify(frame, systems="psc", text_columns=columns)
    enriched = result.to_pandas()
    assert enriched["psc_status"].map(lambda each: each == "empty").tolist() == [False, True, False]
    pd.testing.assert_frame_equal(enriched[["code", "tender"]], frame)
    found = pipeline.evaluate(
        frame, system="psc", text_columns=columns[0], code_column="code", jobs=1
    )
    assert found.rows == 2
    refused = pytest.raises(pipeline.InputError, match=r"Did you mean 'tender\.title'")
    warned = pytest.warns(UserWarning, match=r"'tender\.titel' holds hardly any words: 3 of 3 rows")
    with refused if isinstance(tender, dict) else warned:
        pipeline.classify(frame, systems="psc", text_columns="tender.titel")


@pytest.mark.parametrize("odd", ["mixed", "sparse", "twice"])
def test_a_frame_that_arrow_cannot_hold_still_comes_back_as_a_frame(odd: str) -> None:
    frame = pd.DataFrame({"description": ["Road marking", "Chairs"], "odd": [1, "two"]})
    if odd == "sparse":
        frame["odd"] = pd.arrays.SparseArray([0, 1])
    if odd == "twice":
        frame = frame[["description", "odd", "odd"]]
    result = pipeline.classify(frame, systems="psc")
    with pytest.raises(pipeline.InputError) as refusal:
        _ = result.table
    assert ".." not in refusal.value.message
    assert "to_pandas()" in refusal.value.hint
    pd.testing.assert_frame_equal(result.to_pandas().iloc[:, : frame.shape[1]], frame)


def test_a_column_of_the_users_keeps_its_decimal_places() -> None:
    prices = pa.array([Decimal("1.50"), None], pa.decimal128(38, 24))
    table = pa.table({"description": ["Road marking", "Chairs"], "price": prices})
    frame = pipeline.classify(table, systems="psc").to_pandas(exact_costs=True)
    assert str(frame["price"][0]) == "1.500000000000000000000000"
    assert frame["price"].tolist() == table.to_pandas()["price"].tolist()
    assert str(frame["cost_usd"][0]) == "0"


def test_a_result_can_be_pickled(frame: pd.DataFrame, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("description\nRoad marking\n")
    for result in (
        pipeline.classify(frame, systems="psc"),
        pipeline.classify(pa.table({"description": TEXTS}), systems="psc"),
        pipeline.classify(source, systems="psc", output=tmp_path / "out.csv"),
    ):
        again = pickle.loads(pickle.dumps(result))
        assert again.summary == result.summary
        pd.testing.assert_frame_equal(again.to_pandas(), result.to_pandas())


def test_a_pickled_result_has_each_row_once_and_no_others() -> None:
    texts = [f"Office chairs for room {number}" for number in range(5_000)]
    all_rows = pipeline.classify(pa.table({"description": texts}), systems="psc")
    assert len(pickle.dumps(all_rows)) < 1.5 * all_rows.table.nbytes
    first = pipeline.classify(pa.table({"description": texts}), systems="psc", limit_rows=10)
    assert b"room 4999" not in pickle.dumps(first)


def matches_of(cell: Any) -> list[dict[str, Any]]:
    """Return the matches in a cell, which is JSON in a frame that was read from a text file."""
    found: list[dict[str, Any]] = json.loads(cell if isinstance(cell, str) else json.dumps(cell))
    return found


def test_new_columns_have_the_dtypes_that_pandas_users_expect(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame[["description"]].to_csv(tmp_path / "in.csv", index=False)
    for data, output in ((frame, None), (tmp_path / "in.csv", tmp_path / "out.csv")):
        result = pipeline.classify(data, systems="psc", top=2, output=output)
        enriched = result.to_pandas()
        kinds = {name: str(kind) for name, kind in enriched.dtypes.items()}
        assert (kinds["psc_code"], kinds["psc_title"]) == ("string", "string")
        assert (kinds["psc_status"], kinds["psc_confidence"]) == ("category", "float64")
        assert (kinds["psc_cost_usd"], kinds["cost_usd"]) == ("float64", "float64")
        assert enriched["psc_code"].iloc[1] is pd.NA
        best, *others = matches_of(enriched["psc_matches"].iloc[0])
        assert len(others) == 1
        assert best["code"] == enriched["psc_code"].iloc[0]
        assert np.isnan(enriched["psc_confidence"].iloc[1])
        assert set(enriched["psc_status"].cat.categories) == set(enriched["psc_status"])
        exact = result.to_pandas(exact_costs=True)["cost_usd"]
        assert [repr(cost) for cost in exact] == ["Decimal('0')"] * 4


def test_costs_are_the_nearest_floats_or_exact_decimals_and_unknown_ones_are_missing() -> None:
    from pipeline.classification.pandas_frames import new_columns_of
    from pipeline.settings import Settings

    settings = Settings(systems=("psc",))
    usd = pa.decimal128(38, 24)
    costs = [Decimal("0.00010499999999999999"), None, Decimal(0)]
    text = pa.array(["J065", None, "J065"])
    columns = [text, text, pa.array([0.5, None, 1]), pa.array(["ok", "empty", "TIMEOUT"])]
    names = [f"psc_{name}" for name in ("code", "title", "confidence", "status", "cost_usd")]
    table = pa.table([*columns, *[pa.array(costs, usd)] * 2], names=[*names, "cost_usd"])
    found = new_columns_of(table, settings)
    assert found["cost_usd"].tolist()[::2] == [0.00010499999999999999, 0.0]
    assert np.isnan(found["cost_usd"][1])
    exact = new_columns_of(table, settings, exact_costs=True)["cost_usd"]
    assert exact.tolist() == costs
    assert str(exact[2]) == "0"
