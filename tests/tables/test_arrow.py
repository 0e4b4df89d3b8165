"""A text column may be a field of a nested column."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from pipeline.errors import InputError
from pipeline.tables.arrow import ArrowReader, ArrowWriter
from pipeline.tables.formats import open_reader
from pipeline.tables.table import BATCH_ROWS, NewColumn
from pipeline.tables.texts import join_texts
from tests.tables.arrow_tables import arrow_tables, not_utf8
from tests.tables.rewriting import CODE, texts_of


def written(reader: ArrowReader, metadata: dict[str, str] | None = None) -> pa.Table:
    writer = ArrowWriter(reader.schema, [CODE])
    for batch in reader.batches():
        writer.write(batch, [NewColumn("cpv_code", pa.string(), ["1"] * len(batch.texts))])
    writer.close(metadata or {})
    return writer.table


@given(table=arrow_tables())
def test_columns_types_and_metadata_of_every_kind_stay(table: pa.Table) -> None:
    result = written(ArrowReader(table, ["description"]))
    assert result.select(range(table.num_columns)).equals(table)
    assert list(result.schema)[:-1] == list(table.schema)
    assert (result.schema.metadata or None) == table.schema.metadata
    assert result.column("cpv_code").to_pylist() == ["1"] * table.num_rows
    cells = table.column("description").to_pylist()
    assert texts(table, "description") == [join_texts([cell]) for cell in cells]


def test_a_table_of_many_small_pieces_comes_in_whole_batches() -> None:
    pieces = [pa.array([str(place % 7)]).dictionary_encode() for place in range(BATCH_ROWS + 2)]
    reader = ArrowReader(pa.table({"a": pa.chunked_array(pieces)}), ["a"])
    batches = list(reader.batches())
    assert [len(batch.texts) for batch in batches] == [BATCH_ROWS, 2]
    assert [text for batch in batches for text in batch.texts] == [
        str(place % 7) for place in range(BATCH_ROWS + 2)
    ]


NUMBERS = pa.array([1.5, float("nan"), None])


@pytest.mark.parametrize("numbers", [NUMBERS, NUMBERS.dictionary_encode()])
def test_a_number_is_text_and_nan_is_none(numbers: pa.Array) -> None:
    assert texts(pa.table({"a": numbers, "b": ["x", "y", "z"]}), "a", "b") == ["1.5. x", "y", "z"]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.binary(4)),
        pa.map_(pa.string(), pa.string()),
        pa.binary(4),
        pa.uuid(),
    ],
)
def test_a_text_column_without_text_is_refused(kind: pa.DataType) -> None:
    table = pa.table({"a": pa.nulls(1, kind), "b": ["x"]})
    with pytest.raises(InputError) as caught:
        ArrowReader(table, ["b", "a"])
    assert caught.value.message == f"The column 'a' has the type {kind}, not text."
    assert caught.value.hint == "Choose a column with text: --text-column NAME."


LOT = pa.struct([("title", pa.string()), ("value", pa.float64())])
TENDER = pa.struct(
    [("title", pa.string()), ("lots", pa.list_(LOT)), ("keywords", pa.large_list(pa.string()))]
)
ROWS: list[dict[str, object] | None] = [
    {"title": "Roads", "lots": [{"title": "North"}, {"title": None}, {"title": "South"}]},
    None,
    {"title": None, "lots": [], "keywords": ["bus", None, "tram"]},
    {"title": "Desks", "lots": None, "keywords": []},
    {"title": "Milk", "lots": [None, {"title": " fresh\n milk "}], "keywords": None},
]
TABLE = pa.table({"id": range(5), "tender": pa.array(ROWS, TENDER)})


def texts(table: pa.Table, *columns: str) -> list[str]:
    return texts_of(ArrowReader(table, columns))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("tender.title", ["Roads", "", "", "Desks", "Milk"]),
        ("tender.lots.title", ["North. South", "", "", "", "fresh milk"]),
        ("tender.keywords", ["", "", "bus. tram", "", ""]),
    ],
)
def test_the_texts_of_a_field_are_those_of_its_row(
    tmp_path: Path, column: str, expected: list[str]
) -> None:
    assert texts(TABLE, column) == expected
    assert texts(TABLE.slice(1, 3), column) == expected[1:4]
    assert texts(pa.concat_tables([TABLE.slice(3), TABLE]), column) == expected[3:] + expected
    pq.write_table(TABLE, tmp_path / "t.parquet", row_group_size=2)
    reader = open_reader(tmp_path / "t.parquet", [column])
    assert texts_of(reader) == expected
    assert pa.Table.from_batches([batch.to_arrow() for batch in reader.batches()]).equals(TABLE)


def test_a_text_column_may_hold_json() -> None:
    cells = [
        '{"title": "Roads", "lots": [{"id": 1.50}, {"id": "b"}]}',
        "",
        None,
        "null",
        '{"x": 1}',
    ]
    table = pa.table({"id": range(5), "tender": cells})
    assert texts(table, "tender.title", "id") == ["Roads. 0", "1", "2", "3", "4"]
    assert texts(table, "tender.lots.id") == ["1.50. b", "", "", "", ""]
    surrogate = pa.table({"tender": ['{"title": "Roads \\ud800"}']})
    assert texts(surrogate, "tender.title") == ["Roads ?"]
    for kind in pa.large_string(), pa.string_view():
        other = table.set_column(1, "tender", table["tender"].cast(kind))
        assert texts(other, "tender.title")[0] == "Roads"
    assert texts(table.rename_columns(["id", "a.b"]), "a.b.title")[0] == "Roads"
    both = table.append_column("tender.title", pa.array([f"title {row}" for row in range(5)]))
    assert texts(both, "tender.title")[0] == "title 0"


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("Roads", "Expecting value at character 1."),
        ("1", "'1' is a single value"),
        ('"Roads"', "is a single value"),
        ('{"title": {}}', "'tender.title' is an object, not text"),
    ],
)
def test_a_cell_without_json_has_no_fields(cell: str, reason: str) -> None:
    with pytest.raises(InputError, match="cannot be read from the JSON in column") as caught:
        texts(pa.table({"tender": [cell]}), "tender.title")
    assert reason in caught.value.message
    assert caught.value.hint.endswith("name it: --text-column 'tender'.")


def test_lists_of_a_fixed_length_and_lists_of_lists_stand_for_their_items() -> None:
    lots = pa.list_(pa.list_(LOT, 2))
    row = [[{"title": "a"}, {"title": "b"}], None, [{"title": "c"}, None]]
    column = pa.array([None, row, [], row], lots)
    assert texts(pa.table({"lots": column}), "lots.title") == ["", "a. b. c", "", "a. b. c"]


WORDS, JOINED = [["bus", None, " tram"], None, [], ["taxi"]], ["bus. tram", "", "", "taxi"]
STORED = pa.array(["bus", "tram", "ferry", "taxi"])
GAP = pa.array([False, True, False])
OPAQUE = pa.opaque(pa.list_(pa.string()), "words", "tests")


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array(WORDS, pa.list_(pa.string())), JOINED),
        (pa.array(WORDS, pa.large_list(pa.string_view())), JOINED),
        (pa.array(WORDS, pa.list_view(pa.string())), JOINED),
        (pa.array(WORDS, pa.large_list_view(pa.dictionary(pa.int8(), pa.string()))), JOINED),
        (pa.ExtensionArray.from_storage(OPAQUE, pa.array(WORDS)), JOINED),
        (pa.ListArray.from_arrays([0, 1, 3, 4], STORED, mask=GAP), ["bus", "", "taxi"]),
        (pa.LargeListArray.from_arrays([0, 1, 3, 4], STORED, mask=GAP), ["bus", "", "taxi"]),
        (pa.ListViewArray.from_arrays([3, 1], [1, 2], STORED), ["taxi", "tram. ferry"]),
    ],
)
def test_a_column_of_lists_stands_for_the_items_that_are_in_it(
    column: pa.Array, expected: list[str]
) -> None:
    struct = pa.StructArray.from_arrays([column], names=["words"])
    for start in (0, 1):
        table = pa.table({"words": column, "tender": struct}).slice(start)
        assert texts(table, "words") == texts(table, "tender.words") == expected[start:]


def test_the_error_about_a_missing_field_names_the_fields() -> None:
    with pytest.raises(InputError) as caught:
        ArrowReader(TABLE, ["tender.titel"])
    assert caught.value.message.endswith(
        "Its columns: 'id', 'tender', 'tender.title', 'tender.lots.title', 'tender.keywords', "
        "'tender.lots.value'."
    )
    assert caught.value.hint == "Did you mean 'tender.title'? Use --text-column 'tender.title'."


def test_a_nested_column_is_not_text_but_has_fields() -> None:
    with pytest.raises(InputError) as caught:
        ArrowReader(TABLE, ["tender"])
    assert caught.value.message.startswith("The column 'tender' has the type struct<")
    assert caught.value.hint == "Name a field in it with a dot: --text-column 'tender.title'."


def test_text_that_is_not_utf8_in_memory_is_an_error_that_names_column_and_rows() -> None:
    column = pa.chunked_array([pa.array(["x"] * 1_024), not_utf8(b"y", b"\xff")])
    batches = ArrowReader(pa.table({"a": column}), ["a"]).batches()
    next(batches)
    with pytest.raises(InputError) as caught:
        next(batches)
    assert caught.value.message.startswith(
        "The column 'a' has a value that is not UTF-8 text, in one of the rows 1,025 to 1,026: "
    )
    assert caught.value.hint == "Fix the table, or choose another column: --text-column NAME."


BINARY = [
    pa.array([" Straße\n", "", None], pa.string()).cast(kind)
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view())
]


@pytest.mark.parametrize("column", [*BINARY, BINARY[0].dictionary_encode()])
def test_bytes_that_are_utf8_are_text(column: pa.Array) -> None:
    (batch,) = ArrowReader(pa.table({"a": column}), ["a"]).batches()
    assert batch.texts == ["Straße", "", ""]
    assert batch.to_arrow().column(0).equals(column)
