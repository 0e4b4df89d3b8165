from __future__ import annotations

import os
import re
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

import pytest

from pipeline.codes import load
from pipeline.codes.unspsc_file import add
from pipeline.errors import CodeTableError
from pipeline.files.workbook import CellError, Value, Workbook
from tests.files.spreadsheet import PARTS, SHEET, SHEET_PART, of_xml, text

LAST = "XFD1048576"


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def read(path: Path) -> list[dict[int, Value]]:
    with Workbook(path) as book:
        rows = list(book.grid(book.sheets[0]).rows())
    return [{at: value for at, value in enumerate(row) if value != ""} for row in rows]


CODES = f"<row>{text('A1', 'code')}{text('B1', 'title')}</row>"
TWINS = re.sub("(<sheet [^>]*>)", r"\1\1", PARTS["xl/workbook.xml"])
LIFE = f"<row><c><v>10</v></c>{text('B2', 'Life')}</row>"


def test_cells_that_reach_too_far_are_refused(tmp_path: Path) -> None:
    """python-calamine would make room for all of it, and abort the process."""
    corner = f'<row r="1048576">{text(LAST, "here")}</row>'
    path = of_xml(tmp_path / "u.xlsx", CODES + LIFE + corner, packing=ZIP_DEFLATED)
    assert path.stat().st_size < 2_000
    with pytest.raises(CodeTableError, match="its cells reach to XFD1048576, and more than"):
        add(path)


def test_empty_cells_and_rows_may_reach_as_far_as_a_sheet_does(tmp_path: Path) -> None:
    corner = f'<row r="1048576"><c r="{LAST}" s="1"/></row>'
    path = of_xml(tmp_path / "u.xlsx", CODES + LIFE + corner)
    assert dict(add(path).titles) == {"10000000": "Life"}
    far = f'<row r="1048576">{text("A1048576", "10")}{text("B1048576", "Life")}</row>'
    assert read(of_xml(path, far))[-1] == {0: "10", 1: "Life"}


def test_the_first_sheet_is_the_one_that_the_workbook_names_first(tmp_path: Path) -> None:
    links = PARTS["xl/_rels/workbook.xml.rels"].replace(
        "worksheets/sheet1.xml", "/xl/Worksheets/other.xml"
    )
    rows = f"<row>{text('A1', '10')}{text('B1', 'Life')}</row>"
    other = f'<worksheet xmlns="{SHEET}"><sheetData>{rows}</sheetData></worksheet>'
    more = {"xl/_rels/workbook.xml.rels": links, "xl/worksheets/other.xml": other}
    assert read(of_xml(tmp_path / "u.xlsx", CODES, more)) == [{0: "10", 1: "Life"}]


def test_errors_are_errors_and_no_texts(tmp_path: Path) -> None:
    cell = '<c r="A3" t="e" vm="1"><f>A1#</f><v>#N/A</v></c>'
    same = '<c r="B3" t="str"><f>A3</f><v>#N/A</v></c>'
    path = of_xml(tmp_path / "u.xlsx", f"{CODES}{LIFE}<row>{cell}{same}</row>")
    with Workbook(path) as book:
        *_, last = book.grid(book.sheets[0]).rows()
    assert list(last) == ["#N/A", "#N/A"]
    assert [isinstance(value, CellError) for value in last] == [True, False]


def test_a_main_part_of_another_name_is_an_error(tmp_path: Path) -> None:
    """python-calamine finds the sheets of one name only."""
    path = of_xml(tmp_path / "u.xlsx", CODES + LIFE)
    renamed = tmp_path / "v.xlsx"
    with ZipFile(path) as source, ZipFile(renamed, "w") as target:
        for name in source.namelist():
            content = source.read(name).replace(b"workbook.xml", b"Book1.xml")
            target.writestr(name.replace("workbook.xml", "Book1.xml"), content)
    with pytest.raises(CodeTableError, match=r"its main part is Book1\.xml; save it"):
        add(renamed)


@pytest.mark.parametrize(
    ("rows", "more", "said"),
    [
        (f"<row>{text('XFE2', 'a')}</row>", {}, "row 2 has a cell in XFE too many"),
        ("<row>" + "<c/>" * 16_385 + "</row>", {}, "row 2 has a cell in XFE too many"),
        ("<row>" + '<c r="B2"/>' * 2 + "</row>", {}, "row 2 has a cell in B too many"),
        (f"<row>{text('A0B', 'a')}</row>", {}, "'A0B' is not a column"),
        (f'<row r="2">{text(LAST, "a")}</row>', {}, "row 2 has the cell XFD1048576"),
        ('<row r="1"/>', {}, "row 1 comes after row 1"),
        ('<row r="1048577"/>', {}, "row 1048577 comes after row 1"),
        ('<row><c t="s"><v>0</v></c></row>', {}, "string index not found"),
        ('<row><c t="e"><v>#SPILL!</v></c></row>', {}, "cell A2 has the error #SPILL!"),
        ("<row>", {}, "mismatched tag"),
        ("", {SHEET_PART: '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}, "a document type"),
        ("", {SHEET_PART: '<?xml version="1.0" encoding="UTF-16"?><a/>'}, "the encoding UTF-16"),
        ("", {"xl/workbook.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}, "a document type"),
        ("", {"XL/Workbook.xml": ""}, "two parts of the same name"),
        ("", {"xl/workbook.xml": '<?xml version="1.0" encoding="x"?><a/>'}, "unknown encoding: x"),
        ("", {"xl/workbook.xml": "<workbook/>"}, "it has no sheet"),
        ("", {"xl/workbook.xml": TWINS}, "two sheets of the same name"),
        ("", {"xl/_rels/workbook.xml.rels": "<a/>"}, "it has no sheet"),
    ],
)
def test_a_workbook_that_no_program_writes_is_refused(
    tmp_path: Path, rows: str, more: dict[str, str], said: str
) -> None:
    path = of_xml(tmp_path / "u.xlsx", CODES + rows, more)
    with pytest.raises(CodeTableError, match=r"u\.xlsx cannot be read: ") as caught:
        add(path)
    assert said in caught.value.message


def test_no_more_of_a_part_is_unpacked_than_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = of_xml(tmp_path / "u.xlsx", " " * (2**26 + 1), packing=ZIP_DEFLATED)
    assert bomb.stat().st_size < 100_000
    with pytest.raises(CodeTableError, match=r"sheet1\.xml would have 64 MiB"):
        add(bomb)
    path = of_xml(tmp_path / "v.xlsx", CODES + LIFE)
    for name, said in [("PART_BYTES", "xml"), ("INDEX_BYTES", "rels"), ("FILE_BYTES", "it")]:
        with monkeypatch.context() as patch:
            patch.setattr(f"pipeline.files.workbook.{name}", 250)
            with pytest.raises(CodeTableError, match=f"{said} has more than 0 MiB"):
                add(path)


def test_a_part_that_is_packed_in_another_way_is_refused(tmp_path: Path) -> None:
    path = of_xml(tmp_path / "u.xlsx", CODES)
    with ZipFile(tmp_path / "v.xlsx", "w", ZIP_LZMA) as file:
        for name in ZipFile(path).namelist():
            file.writestr(name, ZipFile(path).read(name))
    with pytest.raises(CodeTableError, match="has a compression that workbooks do not use"):
        add(tmp_path / "v.xlsx")


def test_an_added_table_that_became_a_pipe_is_damaged(tmp_path: Path) -> None:
    place = tmp_path / "data" / "tender-pipeline" / "codes" / "unspsc.parquet"
    path = of_xml(tmp_path / "u.xlsx", CODES + LIFE)
    add(path)
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(CodeTableError, match="it is not a regular file"):
        load("unspsc")
