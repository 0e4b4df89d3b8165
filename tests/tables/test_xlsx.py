"""Excel: cells keep their values and types, the table is found, bad workbooks are named."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from python_calamine import load_workbook
from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

from pipeline.errors import InputError, OutputError
from pipeline.files.workbook import Workbook as Opened
from pipeline.settings import ExcelOptions, Format
from pipeline.tables import checked, open_reader, read_table
from pipeline.tables.table import ARROW_USD
from tests.files.spreadsheet import PARTS, SHEET
from tests.tables.rewriting import folder, rewrite

CODE, COST = pa.field("code", pa.string()), pa.field("cost", ARROW_USD)
NEW = ("=1+1", Decimal("0.1"))

Fill = Callable[[Workbook, Worksheet], None]


def workbook(path: Path, fill: Fill, name: str = "Data", **options: Any) -> Path:
    with Workbook(path, options) as book:
        fill(book, book.add_worksheet(name))
    return path


def of_rows(path: Path, *rows: Sequence[Any]) -> Path:
    def fill(_: Workbook, sheet: Worksheet) -> None:
        for number, row in enumerate(rows):
            for column, value in enumerate(row):
                write = sheet.write_string if isinstance(value, str) else sheet.write
                write(number, column, value)

    return workbook(path, fill)


def cells(path: Path) -> list[tuple[int, dict[int, tuple[str, str, object]]]]:
    """Return the kind, the written value and the number format of all cells of the first sheet."""
    with path.open("rb") as file, Opened(file) as book:
        return [
            (n, {c: (x.kind, x.text, book.formats[x.style]) for c, x in row.items()})
            for n, row in book.rows(book.sheets[0])
            if row
        ]


def rewritten(path: Path, output: Path, excel: ExcelOptions | None = None) -> Path:
    reader = open_reader(path, (), excel=excel)
    rows = sum(len(batch.texts) for batch in reader.batches())
    rewrite(reader, output, [NEW] * rows, "xlsx", [CODE, COST])
    return output


def calamine(path: Path) -> list[list[Any]]:
    """Read the first sheet with another reader."""
    return load_workbook(path).get_sheet_by_index(0).to_python()


CELLS = (
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
    | st.sampled_from(
        ["=1+1", "+1", "@x", "_x0041_", "<r>a</r>", " a\r\n", "007", "\ufffe\0", "#N/A"]
    )
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(2**53), 2**53)
    | st.none()
)


@settings(max_examples=60)
@given(
    st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=3), st.sampled_from([0, 14, "0.0 x"])
)
def test_every_cell_comes_back_with_its_value_type_and_format(
    rows: list[list[Any]], form: int | str
) -> None:
    def fill(book: Workbook, sheet: Worksheet) -> None:
        made = book.add_format({"num_format": form})
        sheet.write_row(1, 1, ["description", "other"])
        for number, row in enumerate(rows, 2):
            for column, value in enumerate(row, 1):
                if isinstance(value, str):
                    sheet.write_string(number, column, value)
                elif isinstance(value, bool):
                    sheet.write_boolean(number, column, value)
                elif value is not None:
                    sheet.write_number(number, column, value, made)

    with folder() as place:
        path = workbook(place / "t.xlsx", fill)
        before = dict(cells(path))
        after = dict(cells(rewritten(path, place / "o.xlsx")))
    last = max((n for n, row in before.items()), default=2)
    for number in range(2, last + 1):
        original = {c: x for c, x in after[number].items() if c < 3}
        assert original == before.get(number, {})
        added = (
            [("text", "code", 0), ("text", "cost", 0)]
            if number == 2
            else [
                ("text", "=1+1", 0),
                ("number", "0.1", 0),
            ]
        )
        assert [after[number][3], after[number][4]] == added


def test_numbers_keep_all_their_digits(tmp_path: Path) -> None:
    sheet = f'<worksheet xmlns="{SHEET}"><sheetData><row><c t="str"><v>a</v></c></row>' + "".join(
        f"<row><c><v>{number}</v></c></row>" for number in ("0.30000000000000004", "1E-7", "7.0")
    )
    with ZipFile(tmp_path / "t.xlsx", "w") as file:
        for name, content in {
            **PARTS,
            "xl/worksheets/sheet1.xml": f"{sheet}</sheetData></worksheet>",
        }.items():
            file.writestr(name, content)
    output = rewritten(tmp_path / "t.xlsx", tmp_path / "o.xlsx")
    with output.open("rb") as opened, Opened(opened) as book:
        found = [row[0].text for _, row in book.rows(book.sheets[0])]
    assert found == ["a", "0.30000000000000004", "1E-7", "7.0"]


def test_texts_that_look_like_formulas_are_texts(tmp_path: Path) -> None:
    of_rows(tmp_path / "t.xlsx", ["=x", "b"], ["=1+1", "@SUM(1)"])
    output = rewritten(tmp_path / "t.xlsx", tmp_path / "o.xlsx")
    assert calamine(output) == [["=x", "b", "code", "cost"], ["=1+1", "@SUM(1)", "=1+1", 0.1]]
    assert b"<f>" not in ZipFile(output).read("xl/worksheets/sheet1.xml")


def tenders(book: Workbook, sheet: Worksheet) -> None:
    """Fill a sheet as buyers do: a title, an empty row, names, values of all types."""
    day = book.add_format({"num_format": "dd.mm.yyyy"})
    hours = book.add_format({"num_format": "hh:mm"})
    sheet.merge_range(0, 0, 0, 3, "Tenders of 2024")
    sheet.write_row(2, 1, ["id", "description", "value", "closes", "open", "at", "note"])
    sheet.write_row(3, 1, ["007", "Roads", 1])
    sheet.write_datetime(3, 4, date(2024, 5, 1), day)
    sheet.write_boolean(3, 5, True)
    sheet.write_number(3, 6, 0.5, hours)
    sheet.write_row(5, 1, [8, "Chairs", 2.5])
    sheet.write_datetime(5, 4, datetime(2024, 5, 1, 12, 30), day)
    sheet.write_formula(5, 7, "=1/0", None, "#DIV/0!")
    sheet.write_formula(5, 8, '="a"&1', None, "a1")


def test_a_table_below_a_title_is_found_and_stays_there(tmp_path: Path) -> None:
    workbook(tmp_path / "t.xlsx", tenders, name="Liste")
    reader = open_reader(tmp_path / "t.xlsx", ["description"])
    assert [text for batch in reader.batches() for text in batch.texts] == ["Roads", "", "Chairs"]
    output = tmp_path / "o.xlsx"
    rewrite(reader, output, [NEW] * 3, "xlsx", [CODE, COST])
    assert load_workbook(output).sheet_names == ["Liste"]
    before, after = calamine(tmp_path / "t.xlsx"), calamine(output)
    assert [row[:9] for row in after] == before
    assert [row[9:] for row in after] == [
        ["", ""],
        ["", ""],
        ["code", "cost"],
        *[["=1+1", 0.1]] * 3,
    ]
    assert dict(cells(output))[6][7] == ("error", "#DIV/0!", 0)


def test_other_formats_get_typed_columns(tmp_path: Path) -> None:
    table = read_table(workbook(tmp_path / "t.xlsx", tenders), "xlsx")
    assert table.schema.names == ["id", "description", "value", "closes", "open", "at", "note", "I"]
    assert table.to_pylist()[0] | table.to_pylist()[2] == {
        "id": "8",
        "description": "Chairs",
        "value": 2.5,
        "closes": datetime(2024, 5, 1, 12, 30),
        "open": None,
        "at": None,
        "note": "#DIV/0!",
        "I": "a1",
    }
    assert table["closes"].to_pylist()[0] == datetime(2024, 5, 1)
    assert table["at"].to_pylist()[0] == "12:00:00"
    assert table["open"].to_pylist()[0] is True
    assert table.to_pylist()[1] == dict.fromkeys(table.schema.names)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, 2.0], pa.int64(), [1, 2]),
        ([2.0**53 * 4], pa.float64(), [2.0**53 * 4]),
        ([1, "a"], pa.string(), ["1", "a"]),
        ([True, 1], pa.string(), ["true", "1"]),
        ([date(2024, 1, 2)], pa.date32(), [date(2024, 1, 2)]),
        ([date(2024, 1, 2), 1], pa.string(), ["2024-01-02", "1"]),
        ([date(1900, 1, 2)], pa.string(), ["2"]),
    ],
)
def test_the_cells_of_a_column_decide_its_type(
    tmp_path: Path, values: list[Any], kind: pa.DataType, expected: list[Any]
) -> None:
    def fill(book: Workbook, sheet: Worksheet) -> None:
        sheet.write(0, 0, "a")
        form = book.add_format({"num_format": 'dd/mm/yy;@" m"'})
        for row, value in enumerate(values, 1):
            sheet.write(row, 0, value, form if isinstance(value, date) else None)

    table = read_table(workbook(tmp_path / "t.xlsx", fill), "xlsx")
    assert table.schema.field("a").type == kind
    assert table["a"].to_pylist() == expected


def test_dates_that_count_from_1904_stay_the_same_days(tmp_path: Path) -> None:
    def fill(book: Workbook, sheet: Worksheet) -> None:
        sheet.write(0, 0, "a")
        sheet.write_datetime(1, 0, date(2024, 1, 2), book.add_format({"num_format": 14}))

    path = workbook(tmp_path / "t.xlsx", fill, date_1904=True)
    assert read_table(path, "xlsx")["a"].to_pylist() == [date(2024, 1, 2)]
    assert calamine(rewritten(path, tmp_path / "o.xlsx"))[1][0] == date(2024, 1, 2)


def sheets(path: Path) -> Path:
    """Write a hidden sheet, a cover, and two sheets with a table."""
    with Workbook(path) as book:
        hidden = book.add_worksheet("Secret")
        hidden.write_column(0, 0, ["description", "hidden"])
        hidden.hide()
        cover = book.add_worksheet("Cover")
        cover.write_row(0, 0, ["A", "B", "C"])
        cover.activate()
        book.add_worksheet("One").write_column(0, 0, ["description", "one"])
        book.add_worksheet("Two").write_column(0, 0, ["note", "description", "two"])
    return path


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        (ExcelOptions(), ["one"]),
        (ExcelOptions(sheet="Two"), ["two"]),
        (ExcelOptions(sheet="4"), ["two"]),
        (ExcelOptions(sheet="Secret"), ["hidden"]),
        (ExcelOptions(header_row=2), ["two"]),
    ],
)
def test_the_first_visible_sheet_with_the_text_columns_is_read(
    tmp_path: Path, options: ExcelOptions, texts: list[str]
) -> None:
    reader = open_reader(sheets(tmp_path / "t.xlsx"), ["description"], excel=options)
    assert [text for batch in reader.batches() for text in batch.texts] == texts


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (ExcelOptions(sheet="Three"), "no sheet 'Three'. Its sheets: 'Secret', 'Cover'", "--sheet"),
        (ExcelOptions(sheet="9"), "no sheet '9'", "--sheet NAME"),
        (ExcelOptions(sheet="0"), "no sheet '0'", "--sheet NAME"),
        (ExcelOptions(header_row=50), "are empty in row 50", "--header-row"),
        (ExcelOptions(sheet="Cover"), "sheet 'Cover' has no column 'description'", "--text-column"),
    ],
)
def test_a_sheet_that_is_not_there_is_an_error(
    tmp_path: Path, options: ExcelOptions, message: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        open_reader(sheets(tmp_path / "t.xlsx"), ["description"], excel=options)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_the_error_about_a_missing_column_is_about_the_sheet_with_the_table(tmp_path: Path) -> None:
    with Workbook(tmp_path / "t.xlsx") as book:
        book.add_worksheet("Info").write_column(0, 0, ["Tenders of 2025", "made on 1 March"])
        book.add_worksheet("Przetargi").write_row(3, 0, ["Nr", "Tytuł", "Opis"])
    with pytest.raises(InputError) as caught:
        open_reader(tmp_path / "t.xlsx", ["Tytul"])
    assert caught.value.message.endswith(
        "sheet 'Przetargi' has no column 'Tytul'. Its columns: 'Nr', 'Tytuł', 'Opis'."
    )
    assert caught.value.hint == (
        "Did you mean 'Tytuł'? Use --text-column 'Tytuł'. "
        "Or name another sheet, --sheet NAME: 'Info'."
    )


@pytest.mark.parametrize(
    "cell", ["<c r='AB7'><f>A1</f></c>", "<c r='AB7'><f>A1</f><v></v></c>"], ids=["none", "empty"]
)
def test_a_formula_without_a_value_is_an_error_that_names_the_cell(
    tmp_path: Path, cell: str
) -> None:
    head = '<row r="1"><c r="A1" t="str"><v>a</v></c></row>'
    rows = f'{head}<row r="7">{cell}</row>'
    sheet = f'<worksheet xmlns="{SHEET}"><sheetData>{rows}</sheetData></worksheet>'
    with ZipFile(tmp_path / "t.xlsx", "w") as file:
        for name, content in {**PARTS, "xl/worksheets/sheet1.xml": sheet}.items():
            file.writestr(name, content)
    with pytest.raises(InputError) as caught:
        open_reader(tmp_path / "t.xlsx", ["a"])
    assert caught.value.message == (
        f"{tmp_path / 't.xlsx'}, sheet 'UNSPSC', cell AB7: the formula has no stored value."
    )
    assert "save it" in caught.value.hint


def whole() -> bytes:
    content = io.BytesIO()
    with Workbook(content) as book:
        book.add_worksheet().write_column(0, 0, ["a", *("x" * 99 for _ in range(99))])
    return content.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "protected with a password"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "it is an old (.xls)"),
        (whole()[:900], "cannot be read as an Excel workbook"),
        (whole().replace(b"xl/workbook.xml", b"xl/workbouk.xml"), "not a complete .xlsx workbook"),
        (b"a,b\n1,2\n", "not a complete .xlsx workbook"),
        (b"", "not a complete .xlsx workbook"),
        (b'{"a": 1}\n', "holds JSON Lines, not Excel"),
    ],
)
def test_a_broken_workbook_is_an_error_that_names_it(
    tmp_path: Path, data: bytes, message: str
) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        open_reader(path, ["a"])
    assert caught.value.message.startswith(str(path))
    assert message in caught.value.message or "holds" in caught.value.message


def test_a_table_with_every_type_becomes_a_workbook(tmp_path: Path) -> None:
    columns = {
        "text": ["=x", None],
        "int": pa.array([2**53, 2**53 + 1], pa.int64()),
        "float": [0.1, float("nan")],
        "decimal": [Decimal("1.10"), Decimal("0.12345678901234567890")],
        "flag": [True, None],
        "day": [date(2024, 1, 2), date(1850, 1, 1)],
        "time": pa.array([1_704_164_645_500_000, 1_704_164_645_500_001], pa.timestamp("us")),
        "list": [[1], []],
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    output = tmp_path / "o.xlsx"
    rewrite(open_reader(tmp_path / "t.parquet", ()), output, [NEW] * 2, "xlsx", [CODE, COST])
    names, first, second = calamine(output)
    assert names == [*columns, "code", "cost"]
    assert first == [
        "=x",
        2.0**53,
        0.1,
        1.1,
        True,
        date(2024, 1, 2),
        datetime(2024, 1, 2, 3, 4, 5, 500_000),
        "[1]",
        "=1+1",
        0.1,
    ]
    assert second[:4] == ["", str(2**53 + 1), "nan", "0.12345678901234567890"]
    assert second[4:8] == ["", "1850-01-01", "2024-01-02 03:04:05.500001", "[]"]


def test_csv_becomes_a_workbook_of_texts(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"id,n\n007,12345678901234567890\n")
    reader = open_reader(tmp_path / "t.csv", ())
    long = ("x" * 40_000, Decimal("0.00010499999999999999"))
    rewrite(reader, tmp_path / "o.xlsx", [long], "xlsx", [CODE, COST])
    row = calamine(tmp_path / "o.xlsx")[1]
    assert row[:2] == ["007", "12345678901234567890"]
    assert 16_000 < len(row[2]) <= 32_767
    assert row[3] == 0.00010499999999999999


@pytest.mark.parametrize(
    ("rows", "text", "message"),
    [
        (3, "x", "A sheet cannot hold more than 3 rows."),
        (1, "x" * 32_768, "A cell cannot hold more than 32,767 characters"),
        (1, "😀" * 16_384, "A cell cannot hold more than 32,767 characters"),
    ],
)
def test_what_a_sheet_cannot_hold_is_refused_while_planning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, text: str, message: str
) -> None:
    monkeypatch.setattr("pipeline.tables.xlsx_writer.ROWS", 3)
    monkeypatch.setattr("pipeline.tables.csv_records.BATCH_ROWS", 2)
    (tmp_path / "t.csv").write_text("a\n" + f"{text}\n" * rows)
    reader = open_reader(tmp_path / "t.csv", ())
    formats: list[Format] = ["csv", "jsonl", "parquet"]
    for other in formats:
        assert sum(len(batch.texts) for batch in checked(reader.batches(), other)) == rows
    with pytest.raises(OutputError, match=message):
        list(checked(reader.batches(), "xlsx"))
    with pytest.raises(OutputError, match=message):
        rewrite(reader, tmp_path / "o.xlsx", [NEW] * rows, "xlsx", [CODE, COST])


def test_a_sheet_has_so_many_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",".join(map(str, range(16_383))) + "\n")
    with pytest.raises(OutputError, match="more than 16,384 columns"):
        rewrite(open_reader(tmp_path / "t.csv", ()), tmp_path / "o.xlsx", [], "xlsx", [CODE, COST])


def test_the_rows_between_are_rows_without_text(tmp_path: Path) -> None:
    def fill(_: Workbook, sheet: Worksheet) -> None:
        sheet.write_string(0, 0, "a")
        sheet.write_string(2_500, 0, "last")

    reader = open_reader(workbook(tmp_path / "t.xlsx", fill), ["a"])
    texts = [text for batch in reader.batches() for text in batch.texts]
    assert len(texts) == 2_500
    assert [text for text in texts if text] == ["last"]
