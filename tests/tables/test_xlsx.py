"""Excel: cells keep their values and types, and a broken workbook is an error that names it."""

from __future__ import annotations

import io
import re
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from python_calamine import load_workbook
from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

from pipeline.errors import InputError
from pipeline.settings import ExcelOptions
from pipeline.tables.formats import open_reader, open_writer, read_table
from pipeline.tables.table import NewColumn
from tests.files.spreadsheet import OFFICE, PARTS, SHEET, SHEET_PART, of_xml, text
from tests.tables.rewriting import folder, rewrite, texts_of
from tests.tables.workbooks import CODE, COST, NEW, calamine, cells, rewritten, workbook

STRICT = "http://purl.oclc.org/ooxml"

FLAT = {"_rels/.rels": PARTS["_rels/.rels"].replace("xl/workbook.xml", "workbook.xml")}
"""The link to a workbook that is in no folder."""

CELLS = (
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
    | st.sampled_from(
        ["=1+1", "+1", "@x", "_x0041_", "<t>a</t>", " a\r\n", "007", "\ufffe\0", "#N/A"]
    )
    | st.booleans()
    | st.floats(-1e9, 1e9)
    | st.integers(-(10**9), 10**9)
    | st.none()
)


@settings(max_examples=60)
@given(
    st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=3), st.sampled_from([0, 14, "0.0 x"])
)
def test_every_cell_comes_back_byte_for_byte_before_the_new_ones(
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
        before = cells(path)
        after = cells(rewritten(path, place / "o.xlsx"))
        values = calamine(place / "o.xlsx")
    for number in range(2, max(before) + 1):
        original = {at: xml for at, xml in after[number].items() if at[0] in "BC"}
        assert original == before.get(number, {})
        assert values[number - 2][2:] == (["code", "cost"] if number == 2 else ["=1+1", 0.1])


HEADER = f'<row r="1">{text("A1", "a")}{text("B1", "b")}</row>'


def test_a_workbook_stays_as_it_is_around_the_table(tmp_path: Path) -> None:
    """Formats, errors, formulas, other sheets, column widths and whatever else it has."""

    def fill(book: Workbook, sheet: Worksheet) -> None:
        sheet.write_row(0, 0, ["id", "description", "error"], book.add_format({"bold": True}))
        sheet.write_string(1, 0, "007", book.add_format({"num_format": "@"}))
        sheet.write_string(1, 1, "Roads")
        sheet.write_formula(1, 2, "=NA()", None, "#N/A")
        sheet.write_blank(2, 2, None, book.add_format({"border": 1}))
        sheet.write_blank(2, 5, None, book.add_format({"border": 1}))
        sheet.write_formula(2, 0, "=1+1", None, 2)
        sheet.set_column(1, 1, 60)
        sheet.freeze_panes(1, 0)
        other = book.add_worksheet("Notes")
        other.write(0, 0, "kept")
        chart = book.add_chart({"type": "pie"})
        chart.add_series({"values": "=Notes!$A$1:$A$2"})
        other.insert_chart("B2", chart)
        other.hide()

    path = workbook(tmp_path / "t.xlsx", fill)
    output = rewritten(path, tmp_path / "o.xlsx")
    before, after = ZipFile(path), ZipFile(output)
    assert sorted(before.namelist()) == sorted(after.namelist())
    for name in before.namelist():
        if name != SHEET_PART:
            assert before.read(name) == after.read(name)
    sheet = after.read(SHEET_PART)
    around = re.compile(rb"^.*<sheetData>|</sheetData>.*$", re.DOTALL)
    extent = b'<dimension ref="A1:F3"/>'
    assert around.findall(before.read(SHEET_PART).replace(extent, b"")) == around.findall(sheet)
    assert b"spans" not in sheet
    old, new = cells(path), cells(output)
    assert {at: new[2][at] for at in old[2]} == old[2]
    assert [*new[3]] == ["A3", "C3", "D3", "E3"]
    assert [row[3:] for row in calamine(output)] == [["code", "cost"], *[["=1+1", 0.1]] * 2]


def test_rows_of_all_spellings_get_cells(tmp_path: Path) -> None:
    """Rows that are missing, are one tag, have a prefix, no number, or cells without a value."""
    sheet = f"""<?xml version="1.0" encoding="UTF-8"?>
        <x:worksheet xmlns:x="{SHEET}"><x:dimension ref="A1:A3"/><x:sheetData>
        <x:row><x:c t="str"><x:v>a</x:v></x:c></x:row >
        <x:row spans="1:1" s="1"/>
        <x:row r="5"><x:c r="A5" t="inlineStr"><x:is><x:t><![CDATA[</x:row>]]></x:t></x:is></x:c>
        <x:c r="C5"/><x:c r="D5"/></x:row><x:row r="9"/></x:sheetData></x:worksheet>"""
    path = of_xml(tmp_path / "t.xlsx", "", {SHEET_PART: sheet})
    output = rewritten(path, tmp_path / "o.xlsx")
    added = [["=1+1", 0.1]] * 4
    assert [row[1:] for row in calamine(output)] == [["code", "cost"], *added]
    assert calamine(output)[4][0] == "</x:row>"
    xml = ZipFile(output).read(SHEET_PART)
    assert re.findall(rb'r="(.5)"', xml) == [b"A5", b"B5", b"C5"]
    assert b"spans" not in xml
    assert b"dimension" not in xml


def test_a_sample_has_the_first_rows_and_no_order_of_calculation(tmp_path: Path) -> None:
    formula = '<row r="3"><c r="A3"><f>1+1</f><v>2</v></c></row>'
    links = PARTS["xl/_rels/workbook.xml.rels"]
    chain = '<Relationship Id="rId9" Type="t/calcChain" Target="calcChain.xml"/></Relationships>'
    more = {
        "xl/calcChain.xml": "<calcChain/>",
        "xl/_rels/workbook.xml.rels": links.replace("</Relationships>", chain),
    }
    rows = f'{HEADER}<row r="2">{text("A2", "x")}</row>{formula}<row r="4"/>'
    reader = open_reader(of_xml(tmp_path / "t.xlsx", rows, more), ["a"])
    output = tmp_path / "o.xlsx"
    writer = open_writer(output, output.name, "xlsx", reader, [CODE])
    (batch,) = reader.batches(1)
    writer.write(batch, [NewColumn("code", CODE.type, ["1"])])
    writer.close({})
    assert calamine(output) == [["a", "b", "code"], ["x", "", "1"]]
    assert [*cells(output)] == [1, 2, 4]
    assert "xl/calcChain.xml" not in ZipFile(output).namelist()
    assert ZipFile(output).read("xl/_rels/workbook.xml.rels").decode() == links


@pytest.mark.parametrize(
    ("row", "more", "names", "expected"),
    [
        ('<c r="A2" s="" t="inlineStr"><is><t>x</t></is></c>', {}, {}, "x"),
        ('<c r="A2" t="s"><v/></c><c r="B2"><v>1</v></c>', {}, {}, None),
        (text("A2", "x"), {}, {"slash": "\\"}, "x"),
        (text("A2", "x"), {}, {"sheet": "Sheet1"}, "x"),
        (text("a2", "x"), {}, {}, "x"),
        (text("A2", "x"), FLAT, {"xl/": ""}, "x"),
        (text("A2", "_x0041__x000D_"), {}, {}, "A\r"),
        ('<c r="A2" t="s"><v>0</v></c>', {}, {}, "Cats"),
        ('<c r="A2" t="s"><v>1</v></c>', {}, {}, "Live Animals"),
        ('<c r="A2" t="e"><f>NA()</f><v>#N/A</v></c>', {}, {}, "#N/A"),
        ('<c r="A2" t="str"><f>A1</f><v></v></c><c r="B2"><v>1</v></c>', {}, {}, None),
    ],
)
def test_what_spreadsheet_programs_read_is_read(
    tmp_path: Path, row: str, more: dict[str, str], names: dict[str, str], expected: str | None
) -> None:
    strings = f"""<sst xmlns="{SHEET}"><si><t>Cats</t><rPh><t>kyatto</t></rPh></si>
        <si><r><t xml:space="preserve">Live </t></r><r><t>Animals</t></r></si></sst>"""
    links = PARTS["xl/_rels/workbook.xml.rels"].replace(
        "</Relationships>",
        f'<Relationship Id="rId2" Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml"/>'
        "</Relationships>",
    )
    shared = {"xl/sharedStrings.xml": strings, "xl/_rels/workbook.xml.rels": links}
    path = of_xml(
        tmp_path / "t.xlsx", f'{HEADER}<row r="2">{row}</row>', {**shared, **more}, names=names
    )
    assert read_table(path, "xlsx")["a"].to_pylist() == [expected]
    after = calamine(rewritten(path, tmp_path / "o.xlsx"))
    assert after[1] == [*calamine(path)[1][:2], "=1+1", 0.1]


def test_strict_workbooks_are_read(tmp_path: Path) -> None:
    path = of_xml(tmp_path / "t.xlsx", f'{HEADER}<row r="2">{text("A2", "x")}</row>')
    strict = tmp_path / "strict.xlsx"
    with ZipFile(path) as source, ZipFile(strict, "w") as target:
        for name in source.namelist():
            content = source.read(name).decode().replace(SHEET, f"{STRICT}/spreadsheetml/main")
            target.writestr(name, content.replace(OFFICE, f"{STRICT}/officeDocument/relationships"))
    assert read_table(strict, "xlsx")["a"].to_pylist() == ["x"]


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, 2.0], pa.int64(), [1, 2]),
        ([2.0**53 * 4], pa.float64(), [2.0**53 * 4]),
        ([1, "a"], pa.string(), ["1", "a"]),
        ([True, 1], pa.string(), ["true", "1"]),
        ([date(2024, 1, 2)], pa.date32(), [date(2024, 1, 2)]),
        ([date(2024, 1, 2), 1], pa.string(), ["2024-01-02", "1"]),
        ([timedelta(days=1, hours=12)], pa.float64(), [1.5]),
    ],
)
def test_the_cells_of_a_column_decide_its_type(
    tmp_path: Path, values: list[Any], kind: pa.DataType, expected: list[Any]
) -> None:
    def fill(book: Workbook, sheet: Worksheet) -> None:
        sheet.write(0, 0, "a")
        form = book.add_format({"num_format": 'dd/mm/yy;@" m"'})
        elapsed = book.add_format({"num_format": "[h]:mm"})
        for row, value in enumerate(values, 1):
            forms = {date: form, timedelta: elapsed}
            sheet.write(row, 0, value, forms.get(type(value)))

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
    of_xml(tmp_path / "t.xlsx", f'{HEADER}<row r="7">{cell}</row>')
    with pytest.raises(InputError) as caught:
        open_reader(tmp_path / "t.xlsx", ["a"])
    assert caught.value.message == (
        f"{tmp_path / 't.xlsx'}, sheet 'UNSPSC', cell AB7: the formula has no stored value."
    )
    assert "save it" in caught.value.hint


def test_a_number_that_is_no_date_by_far_is_an_error(tmp_path: Path) -> None:
    def fill(book: Workbook, sheet: Worksheet) -> None:
        sheet.write(0, 0, "a")
        sheet.write_number(1, 0, -1e300, book.add_format({"num_format": 14}))

    with pytest.raises(InputError, match="row 2 has a number that is out of range for a date"):
        read_table(workbook(tmp_path / "t.xlsx", fill), "xlsx")


def whole() -> bytes:
    content = io.BytesIO()
    with Workbook(content) as book:
        book.add_worksheet().write_column(0, 0, ["a", *("x" * 99 for _ in range(99))])
    return content.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
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


def test_what_to_do_about_a_cell_with_a_newer_error_is_in_the_hint(tmp_path: Path) -> None:
    book = {"xl/workbook.xml": PARTS["xl/workbook.xml"].replace("UNSPSC", "Q1; Q2")}
    path = of_xml(tmp_path / "t.xlsx", f'{HEADER}<row><c t="e"><v>#CALC!</v></c></row>', book)
    with pytest.raises(InputError, match="sheet 'Q1; Q2': cell A2 has the error #CALC!") as caught:
        open_reader(path, ["a"])
    assert caught.value.hint == "Clear the cell, or save the sheet as .csv."


def test_a_damaged_part_of_a_workbook_is_an_error_before_it_is_copied(tmp_path: Path) -> None:
    whole_book = of_xml(tmp_path / "t.xlsx", HEADER, {"xl/media/image1.png": "picture"})
    damaged = tmp_path / "d.xlsx"
    damaged.write_bytes(whole_book.read_bytes().replace(b"picture", b"pictur3"))
    reader = open_reader(damaged, ["a"])
    with pytest.raises(InputError, match=r"d\.xlsx cannot be read as an Excel workbook: Bad CRC"):
        open_writer(tmp_path / "o.xlsx", "o.xlsx", "xlsx", reader, [CODE])


def test_a_full_disk_is_no_error_of_the_input(tmp_path: Path) -> None:
    reader = open_reader(of_xml(tmp_path / "t.xlsx", HEADER), ["a"])
    with pytest.raises(OSError, match="No space left"):
        open_writer(Path("/dev/full"), "o.xlsx", "xlsx", reader, [CODE]).close({})


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


@pytest.mark.parametrize("wanted", [["buyer", "title"], ["buyer"], ["title"]])
def test_names_may_be_merged_over_rows_and_above_others(tmp_path: Path, wanted: list[str]) -> None:
    def fill(_book: Workbook, sheet: Worksheet) -> None:
        sheet.merge_range("A1:A2", "buyer")
        sheet.merge_range("B1:C1", "contract")
        sheet.write_row(1, 1, ["title", "lot"])
        sheet.write_row(2, 0, ["Ministry", "Roads", 1])

    reader = open_reader(workbook(tmp_path / "t.xlsx", fill), wanted)
    assert reader.schema.names == ["buyer", "title", "lot"]
    (batch,) = reader.batches()
    assert batch.to_arrow()["lot"].to_pylist() == [1]
    output = tmp_path / "o.xlsx"
    rewrite(reader, output, [NEW], "xlsx", [CODE, COST])
    assert [row[3:] for row in calamine(output)] == [["", ""], ["code", "cost"], ["=1+1", 0.1]]


def test_a_name_in_merged_cells_alone_leaves_no_row_without_text(tmp_path: Path) -> None:
    def fill(_book: Workbook, sheet: Worksheet) -> None:
        sheet.merge_range("A1:A2", "title")
        sheet.write(2, 0, "Roads")

    reader = open_reader(workbook(tmp_path / "t.xlsx", fill), ["title"])
    assert texts_of(reader) == ["Roads"]


def test_the_text_of_merged_cells_is_that_of_all_their_rows(tmp_path: Path) -> None:
    def fill(_book: Workbook, sheet: Worksheet) -> None:
        sheet.write_row(0, 0, ["buyer", "title", "lot"])
        sheet.write_column(1, 2, range(1, 6))
        sheet.merge_range("A2:A4", "Ministry")
        sheet.merge_range("B2:B3", "Roads")
        sheet.write(3, 1, "Chairs")
        sheet.merge_range("B5:C5", "Paper")

    reader = open_reader(workbook(tmp_path / "t.xlsx", fill), ["buyer", "title"])
    assert texts_of(reader) == ["Ministry. Roads"] * 2 + ["Ministry. Chairs", "Paper", ""]
    (batch,) = reader.batches()
    assert batch.to_arrow()["title"].to_pylist() == ["Roads", None, "Chairs", "Paper", None]


def test_a_table_below_a_title_is_found_and_stays_there(tmp_path: Path) -> None:
    workbook(tmp_path / "t.xlsx", tenders, name="Liste")
    reader = open_reader(tmp_path / "t.xlsx", ["description"])
    assert texts_of(reader) == ["Roads", "", "Chairs"]
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
    assert texts_of(open_reader(tmp_path / "t.xlsx", ["note"])) == ["", "", ""], "an error"


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
    assert texts_of(reader) == texts


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
        book.add_worksheet("Secret").hide()
        book.add_worksheet("Przetargi").write_row(3, 0, ["Nr", "Tytuł", "Opis"])
    with pytest.raises(InputError) as caught:
        open_reader(tmp_path / "t.xlsx", ["Tytul"])
    assert caught.value.message.endswith(
        "sheet 'Przetargi' has no column 'Tytul'. Its columns: 'Nr', 'Tytuł', 'Opis'."
    )
    assert caught.value.hint == (
        "Did you mean 'Tytuł'? Use --text-column 'Tytuł'. "
        "Or name another sheet, --sheet NAME: 'Info', 'Secret'."
    )
