"""Excel: cells keep their values and types, and a broken workbook is an error that names it."""

from __future__ import annotations

import io
from datetime import date
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

from pipeline.errors import InputError
from pipeline.files.workbook import Workbook as Opened
from pipeline.tables import open_reader, read_table
from tests.files.spreadsheet import PARTS, SHEET
from tests.tables.rewriting import folder
from tests.tables.workbooks import calamine, cells, of_rows, rewritten, workbook

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
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "holds an old (.xls) or a protected Excel"),
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
    assert message in caught.value.message
