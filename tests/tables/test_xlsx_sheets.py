"""Which sheet of a workbook is read, and where the table in it begins."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pytest
from python_calamine import load_workbook
from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

from pipeline.errors import InputError
from pipeline.settings import ExcelOptions
from pipeline.tables import open_reader, read_table
from tests.tables.rewriting import rewrite
from tests.tables.workbooks import CODE, COST, NEW, calamine, cells, workbook


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
    assert cells(output)[6]["H6"] == cells(tmp_path / "t.xlsx")[6]["H6"]


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


def test_a_hidden_sheet_with_the_column_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        open_reader(sheets(tmp_path / "t.xlsx"), ["hidden"], excel=ExcelOptions(header_row=2))
    assert caught.value.hint == "The hidden sheet 'Secret' has it: --sheet 'Secret'."
    assert "has no column 'hidden'" in caught.value.message


def test_the_rows_between_are_rows_without_text(tmp_path: Path) -> None:
    def fill(_: Workbook, sheet: Worksheet) -> None:
        sheet.write_string(0, 0, "a")
        sheet.write_string(2_500, 0, "last")

    reader = open_reader(workbook(tmp_path / "t.xlsx", fill), ["a"])
    texts = [text for batch in reader.batches() for text in batch.texts]
    assert len(texts) == 2_500
    assert [text for text in texts if text] == ["last"]
