"""JSON Lines: records keep their bytes, conversions keep their values, bad records are named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.settings import Format
from pipeline.tables.formats import open_reader, open_writer, read_table
from pipeline.tables.table import NewColumn, Reader
from tests.tables.csv_files import compressed
from tests.tables.rewriting import KEYS, NEW, folder, rewrite, rewrite_all, texts_of


def reader_of(place: Path, data: bytes, text_columns: Sequence[str] = ()) -> Reader:
    (place / "t.jsonl").write_bytes(data)
    return open_reader(place / "t.jsonl", text_columns)


def texts(place: Path, data: bytes, text_columns: Sequence[str]) -> list[str]:
    return texts_of(reader_of(place, data, text_columns))


ROW = ("1", Decimal("0.1"))


def rewritten(place: Path, data: bytes, output_format: Format = "jsonl") -> Path:
    """Add a code and a cost to each record."""
    output = place / f"out.{output_format}"
    rewrite_all(reader_of(place, data), output, ROW, output_format, KEYS)
    return output


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a": 1}\n{"b":[ ]}', b'{"a": 1, %b}\n{"b":[ ], %b}'),
        (b'{"a":1.10 }  \r\n', b'{"a":1.10, %b }  \r\n'),
        (b" {} \n\n \n{ }\n \n", b" {%b} \n\n \n{%b }\n \n"),
        (b'\xef\xbb\xbf{"a":"}"}\n', b'\xef\xbb\xbf{"a":"}", %b}\n'),
        (b'\n{"\\u00e9": "\xc3\xa9\\/\\ud800"}\n', b'\n{"\\u00e9": "\xc3\xa9\\/\\ud800", %b}\n'),
        (b'{"a": 1} {\n  "b": 2\n}', b'{"a": 1, %b} {\n  "b": 2, %b\n}'),
    ],
)
def test_a_record_keeps_its_bytes_and_gets_new_keys(
    tmp_path: Path, data: bytes, expected: bytes
) -> None:
    assert rewritten(tmp_path, data).read_bytes() == expected.replace(b"%b", NEW)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
RECORDS = st.lists(st.dictionaries(TEXT, JSON, max_size=3), min_size=1, max_size=4)


@settings(max_examples=80)
@given(
    RECORDS, st.sampled_from([(",", ":"), (" , ", " : ")]), st.integers(1, 3), st.integers(1, 40)
)
@pytest.mark.parametrize("in_list", [False, True])
def test_any_record_comes_back(
    in_list: bool,
    records: list[dict[str, Any]],
    separators: tuple[str, str],
    rows: int,
    chunk: int,
) -> None:
    lines = [json.dumps(record, separators=separators) for record in records]
    data = f"[{' , '.join(lines)}\n]" if in_list else "\n".join(lines)
    with folder() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.tables.table.BATCH_ROWS", rows)
        patch.setattr("pipeline.tables.json_reader.CHUNK_BYTES", chunk)
        if in_list:
            found = json.loads(list_rewritten(place, data.encode(), "o.json"))
        else:
            output = rewritten(place, data.encode())
            found = [json.loads(line) for line in output.read_bytes().split(b"\n")]
    new = {"code": "1", "cost": "0.1"}
    assert found == [{**record, **new} for record in records]
    for line, after in zip(lines, found, strict=True):
        assert list(after) == [*json.loads(line), *new]


@settings(max_examples=40)
@given(RECORDS)
def test_parquet_keeps_every_value_of_a_record(records: list[dict[str, Any]]) -> None:
    """A key whose values fit no type becomes text; nested values become JSON."""
    with folder() as place:
        text = "\n".join(map(json.dumps, records))
        table = pq.read_table(rewritten(place, text.encode(), "parquet"))
    for record, row in zip(records, table.to_pylist(), strict=True):
        for key, value in list(row.items())[:-2]:
            wanted = record.get(key)
            kind = table.schema.field(key).type
            if wanted is None or not pa.types.is_string(kind):
                assert value == wanted and (wanted is None or type(value) in (type(wanted), float))
            elif isinstance(wanted, str):
                assert value in (wanted, json.dumps(wanted))
            else:
                assert json.loads(value) == wanted


def read_table_of(place: Path, data: bytes) -> pa.Table:
    (place / "t.jsonl").write_bytes(data)
    return read_table(place / "t.jsonl", "jsonl")


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["1", "-2"], pa.int64(), [1, -2]),
        (["1", "2.5", "null"], pa.float64(), [1.0, 2.5, None]),
        (["9007199254740993", "1"], pa.int64(), [9007199254740993, 1]),
        (["9007199254740993", "0.5"], pa.string(), ["9007199254740993", "0.5"]),
        (["12345678901234567890123"], pa.string(), ["12345678901234567890123"]),
        (["0.12345678901234567890"], pa.string(), ["0.12345678901234567890"]),
        (["1e400", "1e99999999999999999999"], pa.string(), ["1e400", "1e99999999999999999999"]),
        (["true", "null"], pa.bool_(), [True, None]),
        (["true", "1", '"x"'], pa.string(), ["true", "1", "x"]),
        (['"007"', '"NA"'], pa.string(), ["007", "NA"]),
        (["[1,  1.10]", '"x"', "2"], pa.string(), ["[1,  1.10]", '"x"', "2"]),
        (["null"], pa.string(), [None]),
    ],
)
def test_the_values_of_a_key_decide_its_type(
    tmp_path: Path, values: list[str], kind: pa.DataType, expected: list[Any]
) -> None:
    table = read_table_of(tmp_path, "\n".join(f'{{"a": {value}}}' for value in values).encode())
    assert table.schema.field("a").type == kind
    assert table["a"].to_pylist() == expected


def test_keys_come_in_the_order_of_their_first_record(tmp_path: Path) -> None:
    table = read_table_of(tmp_path, b'{"b":"1"}\n{"a":"2","b":"3"}\n{"c":"4","a":"5"}\n')
    assert table.to_pydict() == {
        "b": ["1", "3", None],
        "a": [None, "2", "5"],
        "c": [None, None, "4"],
    }


@pytest.mark.parametrize(
    ("record", "columns", "text"),
    [
        ('{"tender": {"title": " Road  works "}}', ["tender.title"], "Road works"),
        ('{"tender.title": "A", "tender": {"title": "B"}}', ["tender.title"], "A"),
        ('{"a.b": {"c": "A"}}', ["a.b.c"], "A"),
        ('{"lots": [{"t": "A"}, {"u": 1}, {"t": "B"}]}', ["lots.t"], "A. B"),
        ('{"t": ["A", "B"], "n": 1.10}', ["n", "t"], "1.10. A. B"),
        ('{"t": true, "u": null}', ["t", "u"], "true"),
        ('{"t": "\\ud800 roads"}', ["t"], "? roads"),
        ('{"t": "A"}', ["u"], ""),
    ],
)
def test_a_text_column_may_be_nested(
    tmp_path: Path, record: str, columns: list[str], text: str
) -> None:
    other = '{"tender.title":"x","u":"x"}\n'
    assert texts(tmp_path, f"{record}\n{other}".encode(), columns)[0] == text


def test_a_key_that_no_record_has_is_missed_beside_other_texts_unless_it_is_misspelt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = b'{"id": 0, "buyer": {"name": "x", "address": {"street": "y"}}}\n{"id": 1}'
    assert texts(tmp_path, data, ["id", "buyer.city"]) == ["0", "1"]
    (said,) = caplog.messages
    assert said == f"{tmp_path / 't.jsonl'}: no row has the text column 'buyer.city'."
    for misspelt in ("buyer.nmae", "buyer.adress.street", "Buyer.name", "buyer.nm"):
        with pytest.raises(InputError, match=f"has no column '{misspelt}'"):
            texts(tmp_path, data, ["id", misspelt])


@pytest.mark.parametrize(
    ("data", "message", "hint"),
    [
        (b'{"a": 1}\n{"a": ', "record 2: it is cut off", "one after the other"),
        (b'{"a": 1}\n{"a": 2\n{"a": 3}', "record 2: Expecting ',' delimiter at character 9", ""),
        (b'{"a": 1}\n[1]\n', "record 2: it is an array, not an object", "one after the other"),
        (b'{"b": {"c": 1, "c": 2}}', "record 1: the key 'c' occurs twice", "If so, fix record 1."),
        (b"a,b\n1,2\n", "record 1: Expecting value at character 1", "one after the other"),
        (b"PAR1\x15", "holds a Parquet file, not JSON Lines", "--input-format parquet"),
        (b"", "is empty", "in one list"),
        (b"\n \n", "is empty", "in one list"),
        (b'{"A": "x"}\n', "has no column 'a'. Its columns: 'A'", "--text-column 'A'"),
        (b"{}\n", "has no columns with a name.", "a column of texts"),
        (b'{"t": {"a": "x"}}\n', "has no column 'a'. Its columns: 't', 't.a'", "'t.a'"),
        (b'{"t": {"u": [{"a": "x"}]}}', "'t.u.a'", "Use --text-column 't.u.a'. If the rows are in"),
        (
            b'{"n": 1, "t u": [{"b": "x"}]}',
            "Its columns: 'n', 't u', 't u.b'",
            "jq '.\"t u\"' FILE",
        ),
        (
            b'{"ok": [1], "result": {"fields": [], "rows": [{"b": "x"}, {"b": "y"}]}}',
            "Its columns: 'ok', 'result', 'result.fields', 'result.rows.b'",
            """'result.rows': jq '."result"."rows"' FILE""",
        ),
        (b'{"\'; x": [{}]}', 'Its columns: "\'; x"', "jq '.\"'\"'\"'; x\"' FILE"),
        (b'{"a": {"b": "x"}}\n', "record 1: 'a' is an object, not text", "--text-column 'a.b'"),
        (b'{"a": {}}\n', "record 1: 'a' is an object, not text", "--text-column 'a.NAME'"),
        (b'{"a": {"0": "x", "1": "y"}}\n', "'a' is an object, not text", 'orient="records"'),
        (b'{"a": "x", "\\ud800": 1}\n', "unpaired surrogate, U+D800", "Rename"),
        (b'[{"a": 1}, {"a": ', "record 2: it is cut off", ""),
        (b'[{"a": 1}', "record 2: it is cut off", ""),
        (b'[{"a": 1}] {"a": 2}', "record 2: unexpected text: '{\"a\": 2}'", ""),
        (b'[{"a": 1} {"a": 2}]', "record 2: unexpected text: '{\"a\": 2}]'", ""),
        (b'[{"a": 1},]', "record 2: Expecting value at character 1", ""),
        (b'[{"a": 1}, {"a": "\n"}]', "record 2: Invalid control character at character 8", ""),
        (b'[{"a": "\xff"}]', "record 1: byte 0xFF is not UTF-8", "iconv"),
        (b'[{}, {"a": ' + b"[" * 100_000, "record 2: it is nested too deeply", "fix record 2"),
    ],
)
def test_bad_records_are_errors_that_name_file_and_record(
    tmp_path: Path, data: bytes, message: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        texts(tmp_path, data, ["a"])
    assert caught.value.message.startswith(str(tmp_path / "t.jsonl"))
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("name", "record", "message"),
    [
        ("t.jsonl.gz", b'{"a": 1}', "record 2: Expecting ':' delimiter"),
        ("t.json.zst", b'{"ocid": "1", "tender": {}}', "release 2: unexpected text: '2}'"),
    ],
)
def test_an_error_in_compressed_json_is_about_the_json(
    tmp_path: Path, name: str, record: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(compressed(record + b' {"ocid" 2}', path.suffix))
    with pytest.raises(InputError, match=message):
        list(open_reader(path, ()).batches())


def test_a_column_in_the_list_with_the_rows_is_not_suggested(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        texts(tmp_path, b'{"links": [], "rows": [{"title": "x"}, {"title": "y"}]}', ["title"])
    assert caught.value.hint == (
        "If the rows are in its list 'rows': jq '.\"rows\"' FILE > ROWS.json."
    )


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (b'{"a": "1"}\n{"a": "2"}\n{"a": "', "record 3"),
        (b'{"ocid": "1", "tag": []} {"ocid": "', "release 2"),
    ],
)
def test_a_record_without_end_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes, message: str
) -> None:
    monkeypatch.setattr("pipeline.tables.json_reader.RECORD_BYTES", 1000)
    monkeypatch.setattr("pipeline.tables.json_reader.CHUNK_BYTES", 300)
    with pytest.raises(InputError, match=f"{message}: it has more than 1,000 bytes"):
        list(reader_of(tmp_path, before + b"x" * 5000, ["a"]).batches())


def test_csv_becomes_json_with_texts(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes('id,é\n007,"a\n""b"""\n'.encode())
    reader = open_reader(tmp_path / "t.csv", ())
    rewrite(reader, tmp_path / "o.jsonl", [("\ud800", Decimal("0"))], "jsonl", KEYS)
    line = (tmp_path / "o.jsonl").read_bytes()
    assert line == '{"id": "007", "é": "a\\n\\"b\\"", '.encode() + (
        b'"code": "\\ud800", "cost": "0"}\n'
    )


def test_parquet_becomes_json_with_its_values(tmp_path: Path) -> None:
    columns = {
        "int": pa.array([1, None], pa.int64()),
        "float": pa.array([0.1, float("nan")], pa.float32()),
        "decimal": pa.array([Decimal("1.10"), None]),
        "flag": pa.array([True, False]),
        "bytes": pa.array([b"\0", b""]),
        "day": pa.array([0, None], pa.date32()),
        "list": pa.array([[{"x": 1.5}], None]),
        "word": pa.array(["a", "b"]).dictionary_encode(),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    reader = open_reader(tmp_path / "t.parquet", ())
    rewrite(reader, tmp_path / "o.jsonl", [["1"], ["1"]], "jsonl", KEYS[:1])
    first, second = map(json.loads, (tmp_path / "o.jsonl").read_text().splitlines())
    assert first == {
        "code": "1",
        "int": 1,
        "float": 0.1,
        "decimal": 1.1,
        "flag": True,
        "bytes": "AA==",
        "day": "1970-01-01",
        "list": [{"x": 1.5}],
        "word": "a",
    }
    assert '"decimal": 1.10,' in (tmp_path / "o.jsonl").read_text()
    assert second["float"] == "nan"
    assert second["list"] is second["day"] is None


LIST = b"""\xef\xbb\xbf[
  {"id": 1.10, "t": "a ] \\" b",
   "x": {"y": [ ]}},
  {"t": "c\\nd"}
,{ } ]
"""


def list_rewritten(place: Path, data: bytes, name: str) -> bytes:
    (place / "t.json").write_bytes(data)
    return rewrite_all(open_reader(place / "t.json", ()), place / name, ROW, "jsonl", KEYS)


def test_a_list_keeps_its_bytes_and_its_items_get_new_keys(tmp_path: Path) -> None:
    assert (
        list_rewritten(tmp_path, LIST, "o.json")
        == b"""\xef\xbb\xbf[
  {"id": 1.10, "t": "a ] \\" b",
   "x": {"y": [ ]}, %b},
  {"t": "c\\nd", %b}
,{%b } ]
"""
        % (NEW, NEW, NEW)
    )


def test_its_items_are_lines_in_a_file_of_lines(tmp_path: Path) -> None:
    assert list_rewritten(tmp_path, LIST, "o.jsonl").splitlines() == [
        b'{"id": 1.10, "t": "a ] \\" b", "x": {"y": [ ]}, %b}' % NEW,
        b'{"t": "c\\nd", %b}' % NEW,
        b"{%b }" % NEW,
    ]


def test_the_first_rows_of_a_list_are_a_list(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(LIST)
    reader = open_reader(tmp_path / "t.json", ["t"])
    assert texts_of(reader) == ['a ] " b', "c d", ""]
    (batch,) = reader.batches(2)
    writer = open_writer(tmp_path / "o.json", "o.json", "jsonl", reader, KEYS[:1])
    writer.write(batch, [NewColumn("code", KEYS[0].type, ["1", "2"])])
    writer.close({})
    assert [each["code"] for each in json.loads((tmp_path / "o.json").read_text("utf-8-sig"))] == [
        "1",
        "2",
    ]


@pytest.mark.parametrize(("name", "written"), [("o.json", b"[\n]\n"), ("o.jsonl", b"")])
def test_an_empty_list_is_a_table_without_rows(tmp_path: Path, name: str, written: bytes) -> None:
    assert list_rewritten(tmp_path, b"[\n]\n", name) == written
    reader = open_reader(tmp_path / "t.json", ["description"])
    assert sum(batch.to_arrow().num_rows for batch in reader.batches()) == 0
    rewrite(reader, tmp_path / "o.csv", [], "csv", KEYS)
    assert (tmp_path / "o.csv").read_bytes() == b"code,cost\n"
