"""One JSON list of objects: items keep their bytes, and become lines elsewhere."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.tables import (
    NewColumn,
    format_of,
    open_reader,
    open_writer,
    output_format_of,
    read_table,
)
from tests.tables.rewriting import KEYS, NEW, folder, rewrite

LIST = b"""\xef\xbb\xbf[
  {"id": 1.10, "t": "a ] \\" b",
   "x": {"y": [ ]}},
  {"t": "c\\nd"}
,{ } ]
"""


def rewritten(place: Path, data: bytes, name: str, rows: int | None = None) -> bytes:
    (place / "t.json").write_bytes(data)
    reader = open_reader(place / "t.json", ())
    count = sum(len(batch.texts) for batch in reader.batches())
    rewrite(reader, place / name, [("1", Decimal("0.1"))] * count, "jsonl", KEYS)
    return (place / name).read_bytes()


def test_a_list_keeps_its_bytes_and_its_items_get_new_keys(tmp_path: Path) -> None:
    assert (
        rewritten(tmp_path, LIST, "o.json")
        == b"""\xef\xbb\xbf[
  {"id": 1.10, "t": "a ] \\" b",
   "x": {"y": [ ]}, %b},
  {"t": "c\\nd", %b}
,{%b } ]
"""
        % (NEW, NEW, NEW)
    )


def test_its_items_are_lines_in_a_file_of_lines(tmp_path: Path) -> None:
    assert rewritten(tmp_path, LIST, "o.jsonl").splitlines() == [
        b'{"id": 1.10, "t": "a ] \\" b", "x": {"y": [ ]}, %b}' % NEW,
        b'{"t": "c\\nd", %b}' % NEW,
        b"{%b }" % NEW,
    ]


def test_a_list_is_a_table(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(LIST)
    found = read_table(tmp_path / "t.json", format_of(tmp_path / "t.json"))
    assert found.column_names == ["id", "t", "x"]
    assert found["id"].to_pylist() == [1.1, None, None]
    assert found["t"].to_pylist() == ['a ] " b', "c\nd", None]
    assert found["x"][0].as_py() == '{"y": [ ]}'


def test_the_first_rows_of_a_list_are_a_list(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(LIST)
    reader = open_reader(tmp_path / "t.json", ["t"])
    (batch,) = reader.batches()
    assert batch.texts == ['a ] " b', "c d", ""]
    writer = open_writer(tmp_path / "o.json", "o.json", "jsonl", reader, KEYS[:1])
    writer.write(batch.head(2), [NewColumn("code", KEYS[0].type, ["1", "2"])])
    writer.close({})
    assert [each["code"] for each in json.loads((tmp_path / "o.json").read_text("utf-8-sig"))] == [
        "1",
        "2",
    ]


@pytest.mark.parametrize(("name", "written"), [("o.json", b"[\n]\n"), ("o.jsonl", b"")])
def test_an_empty_list_is_a_table_without_rows(tmp_path: Path, name: str, written: bytes) -> None:
    assert rewritten(tmp_path, b"[\n]\n", name) == written
    reader = open_reader(tmp_path / "t.json", ["description"])
    assert sum(batch.to_arrow().num_rows for batch in reader.batches()) == 0
    rewrite(reader, tmp_path / "o.csv", [], "csv", KEYS)
    assert (tmp_path / "o.csv").read_bytes() == b"code,cost\n"


def test_a_list_may_have_the_name_of_either_format(tmp_path: Path) -> None:
    for name in ("t.json", "t.jsonl"):
        for data in (LIST, b"[]"):
            (tmp_path / name).write_bytes(data)
            assert format_of(tmp_path / name) == "jsonl"
    assert output_format_of(Path("o.json"), input_format="jsonl") == "jsonl"
    assert output_format_of(Path("o.json"), input_format="csv") == "ocds"


@given(
    records=st.lists(st.dictionaries(st.text(max_size=3), st.text()), min_size=1, max_size=9),
    indent=st.sampled_from([None, 1, 4]),
    size=st.integers(1, 40),
)
def test_lists_are_the_same_in_chunks_of_any_size(
    records: list[dict[str, str]], indent: int | None, size: int
) -> None:
    records = [{**record, "t": str(place)} for place, record in enumerate(records)]
    with folder() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.tables.json_reader.CHUNK_BYTES", size)
        written = rewritten(place, json.dumps(records, indent=indent).encode(), "o.json")
        added = {"code": "1", "cost": "0.1"}
        assert json.loads(written) == [record | added for record in records]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'[{"a": 1}, {"a": ', "item 2: it is cut off"),
        (b'[{"a": 1}, {"a": "x', "item 2: it is cut off"),
        (b'[{"a": 1},', "item 2: it is cut off"),
        (b'[{"a": 1}', "item 2: it is cut off"),
        (b'[{"a": 1}] {"a": 2}', "item 2: unexpected text: '{\"a\": 2}'"),
        (b'[{"a": 1}] x', "item 2: unexpected text: 'x'"),
        (b'[{"a": 1}, 2, {"a": 3}]', "item 2: it is a number, not an object"),
        (b'[{"a": 1} {"a": 2}]', "item 2: unexpected text: '{\"a\": 2}]'"),
        (b'[{"a": 1},]', "item 2: Expecting value at character 1"),
        (b'[{"a": 1}, []]', "item 2: it is an array, not an object"),
        (b'[{"a": 1}, {"a": }]', "item 2: Expecting value at character 7"),
        (b'[{"a": 1}, {"a": 1, "a": 2}]', "item 2: the key 'a' occurs twice in an object"),
        (b'[{"a": 1}, {"a": "\n"}]', "item 2: Invalid control character at character 8"),
        (b'[{"a": "\xff"}]', "item 1: byte 0xFF is not UTF-8"),
        (b"[\n[{}]]", "item 1: it is an array, not an object"),
        (b'[{"a": ' + b"[" * 100_000, "item 1: it is nested too deeply"),
    ],
)
def test_bad_items_are_errors_that_name_file_and_item(
    tmp_path: Path, data: bytes, message: str
) -> None:
    (tmp_path / "t.json").write_bytes(data)
    with pytest.raises(InputError) as caught:
        list(open_reader(tmp_path / "t.json", ["a"], None, "jsonl").batches())
    assert caught.value.message.startswith(str(tmp_path / "t.json"))
    assert message in caught.value.message
