from __future__ import annotations

import base64
import json
import uuid
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.tables.cells import arrow_cells, cell


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("", ""),
        (Decimal("0.00015"), "0.00015"),
        (Decimal("1.500000000000000000000000"), "1.5"),
        (Decimal("1E-7"), "0.0000001"),
        (Decimal("100"), "100"),
        (Decimal("0E-24"), "0"),
        (0.1, "0.1"),
        (np.float64(0.25), "0.25"),
        ([], "[]"),
        ([{"code": "03", "title": "Bäume"}], '[{"code":"03","title":"Bäume"}]'),
    ],
)
def test_our_own_values(value: Any, text: str) -> None:
    assert cell(value) == text


@pytest.mark.parametrize(
    "text",
    [
        "=cmd|' /C calc'!A0",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        "  =1",
        "\ufeff=1",
        "\xa0+1",
        "＝1+1",  # noqa: RUF001 - Excel in Japan takes it too
        "-",
    ],
)
def test_a_text_of_ours_that_a_spreadsheet_would_compute_has_an_apostrophe(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "text",
    [
        *("45233140", "31-33", "J0", "'s-Hertogenbosch", " Seeds", "a=b", "(-1)", "no_match"),
        # what only joins or marks letters
        *("Türkçe", "دورة\u200f مياه", "a\u200db", "a\xa0b", "\ufeffa"),
    ],
)
def test_any_other_text_of_ours_stays_as_it_is(text: str) -> None:
    assert cell(text) == text


UNSEEN = [chr(code) for code in (*range(32), *range(0x7F, 0xA0))] + list(
    "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


@pytest.mark.parametrize("character", UNSEEN, ids=ascii)
def test_a_control_character_in_a_text_of_ours_becomes_a_space(character: str) -> None:
    assert cell(f"Road{character}s") == "Road s"
    assert cell(f"{character}=1") == "' =1"


@pytest.mark.parametrize("character", UNSEEN, ids=ascii)
def test_a_control_character_in_a_list_of_ours_is_escaped_as_json_has_it(character: str) -> None:
    written = cell([{"title": f"Road{character}s"}])
    assert character not in written
    assert json.loads(written) == [{"title": f"Road{character}s"}]


PIECES = st.sampled_from(["'", "=", "+", "-", "@", "\xa0", "\ufeff", " ", "a", "7", "＝"])  # noqa: RUF001


@given(st.lists(PIECES, max_size=6).map("".join))
def test_an_apostrophe_can_be_taken_away_again(text: str) -> None:
    written = cell(text)
    assert written.lstrip(" \xa0\ufeff")[:1] not in {"=", "+", "-", "@"}
    again = cell(written)
    assert (written[1:] if written[:1] == "'" and again != written else written) == text


@given(st.floats(allow_nan=False))
def test_numbers_of_ours_are_read_back_exactly(value: float) -> None:
    assert float(cell(value)) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=24, min_value=0, max_value=10**9))
def test_money_is_plain_and_exact(value: Decimal) -> None:
    assert Decimal(cell(value)) == value
    assert "E" not in cell(value)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.int64(), 7, "7"),
        (pa.float64(), 0.1, "0.1"),
        (pa.bool_(), True, "true"),
        (pa.string(), " a\n", " a\n"),
        (pa.large_string(), "é", "é"),
        (pa.string_view(), "é", "é"),
        (pa.decimal128(20, 3), Decimal("1.500"), "1.500"),
        (pa.decimal128(20, 9), Decimal("0E-9"), "0.000000000"),
        (pa.decimal128(20, 9), Decimal("-1E-7"), "-0.000000100"),
        (pa.date32(), date(2024, 2, 29), "2024-02-29"),
        (pa.time64("us"), time(1, 2, 3), "01:02:03.000000"),
        (pa.duration("s"), timedelta(minutes=2), "120"),
        (pa.binary(), b"\xff\0", base64.b64encode(b"\xff\0").decode()),
        (pa.large_binary(), b"a", "YQ=="),
        (pa.binary_view(), b"a", "YQ=="),
        (pa.binary(2), b"ab", "YWI="),
        (pa.dictionary(pa.int8(), pa.string()), "x", "x"),
        (pa.dictionary(pa.int8(), pa.binary()), b"a", "YQ=="),
        (pa.list_(pa.int8()), [1, None], "[1,null]"),
        (pa.list_(pa.string()), ['é "q"'], '["é \\"q\\""]'),
        (pa.struct([("a", pa.date32())]), {"a": date(2024, 1, 2)}, '{"a":"2024-01-02"}'),
        (pa.struct([("a", pa.binary())]), {"a": b"a"}, '{"a":"YQ=="}'),
        (pa.struct([("a", pa.decimal128(3, 1))]), {"a": Decimal("1.5")}, '{"a":"1.5"}'),
        (pa.list_(pa.decimal128(9, 9)), [Decimal("1E-7")], '["0.000000100"]'),
        (pa.map_(pa.string(), pa.int8()), [("k", 1)], '[["k",1]]'),
        (pa.json_(), '{"a": 1}', '{"a": 1}'),
        (pa.uuid(), uuid.UUID(int=255).bytes, base64.b64encode(uuid.UUID(int=255).bytes).decode()),
    ],
)
def test_values_of_other_tables_and_their_nulls(kind: pa.DataType, value: Any, text: str) -> None:
    assert list(arrow_cells("c", pa.array([value, None], kind))) == [text, ""]
