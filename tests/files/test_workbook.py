from __future__ import annotations

import io
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

import pytest

from pipeline.codes import load
from pipeline.codes.added import add
from pipeline.errors import CodeTableError
from pipeline.files.workbook import Limits, row_texts
from tests.files.spreadsheet import PARTS, SHEET

ADDED = import_module("pipeline.codes.added")
"""The module; its package has a function of that name."""

LAST = "XFD1048576"
SHEET_NAME = "xl/worksheets/sheet1.xml"


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def workbook(path: Path, rows: str, more: Mapping[str, str] | None = None) -> Path:
    """Write a workbook with the XML of some rows, and with more or other parts."""
    sheet = f'<worksheet xmlns="{SHEET}"><sheetData>{rows}</sheetData></worksheet>'
    parts = {**PARTS, SHEET_NAME: sheet, **(more or {})}
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return path


def read(path: Path) -> list[dict[int, str]]:
    with path.open("rb") as file:
        return [dict(row) for row in row_texts(file)]


def strings(*items: str) -> dict[str, str]:
    whole = "".join(f"<si>{item}</si>" for item in items)
    return {"xl/sharedStrings.xml": f'<sst xmlns="{SHEET}">{whole}</sst>'}


def text(at: str, value: str) -> str:
    return f'<c r="{at}" t="inlineStr"><is><t>{value}</t></is></c>'


CODES = f"<row>{text('A1', 'code')}{text('B1', 'title')}</row>"
LIFE = f"<row><c><v>10</v></c>{text('B2', 'Life')}</row>"


def test_a_cell_in_the_last_corner_takes_no_more_room_than_another(tmp_path: Path) -> None:
    """A reader that makes room for the extent aborts the process here, and nothing catches it."""
    corner = f'<row r="1048576">{text(LAST, "here")}</row>'
    path = workbook(tmp_path / "u.xlsx", CODES + LIFE + corner)
    assert path.stat().st_size < 2_000
    assert read(path)[-1] == {16_383: "here"}
    assert dict(add(path).titles) == {"10000000": "Life"}


def test_cells_have_shared_own_and_calculated_texts_and_numbers(tmp_path: Path) -> None:
    shared = strings(
        "<t>Cats</t><rPh><t>kyatto</t></rPh>",
        "<r><t>Live </t></r><r><t>_x0041_nimals</t></r>",
        "<t>_xD800_</t>",
    )
    row = (
        '<c t="s"><v>0</v></c><c t="s"><v>1</v></c><c r="D1"><v>10101500.0</v></c>'
        '<c><f>1+1</f><v>2.5</v></c><c t="str"><v>said</v></c><c t="s"><v>2</v></c><c t="b"/>'
    )
    (found,) = read(workbook(tmp_path / "u.xlsx", f"<row>{row}</row>", shared))
    whole = ["Cats", "Live Animals", None, "10101500", "2.5", "said", "_xD800_"]
    assert found == {place: cell for place, cell in enumerate(whole) if cell}


def test_the_first_sheet_is_the_one_that_the_workbook_names_first(tmp_path: Path) -> None:
    links = PARTS["xl/_rels/workbook.xml.rels"].replace(
        "worksheets/sheet1.xml", "/xl/Worksheets/other.xml"
    )
    other = f'<worksheet xmlns="{SHEET}"><sheetData>{LIFE}</sheetData></worksheet>'
    more = {"xl/_rels/workbook.xml.rels": links, "xl/worksheets/other.xml": other}
    assert read(workbook(tmp_path / "u.xlsx", CODES, more)) == [{0: "10", 1: "Life"}]


@pytest.mark.parametrize(
    ("rows", "more", "said"),
    [
        (text("XFE1", "a"), {}, "a row has more than 16,384 columns"),
        ("<row>" + "<c/>" * 16_385 + "</row>", {}, "a row has more than 16,384 columns"),
        (text("A0B", "a"), {}, "'A0B' is not a column"),
        (text("A1", "a" * 32_768), {}, "a cell has more than 32,767 characters"),
        ('<c t="s"><v>0</v></c>', {}, "there is no shared text '0'"),
        ('<c t="s"><v>-1</v></c>', strings("<t>a</t>"), "there is no shared text '-1'"),
        ("<row>", {}, "mismatched tag"),
        ("", {SHEET_NAME: '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}, "a document type"),
        ("", {SHEET_NAME: '<?xml version="1.0" encoding="UTF-e"?><a/>'}, "unknown encoding: UTF-e"),
        ("", {"xl/workbook.xml": "<workbook/>"}, "it has no sheet"),
        ("", {"xl/_rels/workbook.xml.rels": "<a/>"}, "it has no sheet"),
    ],
)
def test_a_workbook_that_no_program_writes_is_refused(
    tmp_path: Path, rows: str, more: dict[str, str], said: str
) -> None:
    path = workbook(tmp_path / "u.xlsx", CODES + rows, more)
    with pytest.raises(CodeTableError, match=r"u\.xlsx cannot be read: ") as caught:
        add(path)
    assert said in caught.value.message


def test_no_more_rows_are_read_than_a_sheet_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.files.sheet_xml.ROWS", 2)
    assert read(workbook(tmp_path / "u.xlsx", "<row/>" * 2)) == [{}, {}]
    with pytest.raises(ValueError, match="it has more than 2 rows"):
        read(workbook(tmp_path / "u.xlsx", "<row/>" * 3))


def test_no_more_of_a_part_is_unpacked_than_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.files.workbook.LIMITS", Limits(part=2**20))
    path = workbook(tmp_path / "u.xlsx", " " * (2**20 + 1))
    assert path.stat().st_size < 4_000
    with pytest.raises(CodeTableError, match="has more than 1 MiB"):
        add(path)
    monkeypatch.setattr("pipeline.files.workbook.LIMITS", Limits(strings=2**10))
    path = workbook(tmp_path / "u.xlsx", CODES, strings("<t>a</t>" * 1_000))
    with pytest.raises(CodeTableError, match=r"xl/sharedStrings\.xml has more than"):
        add(path)
    monkeypatch.setattr("pipeline.files.workbook.LIMITS", Limits(file=100))
    with pytest.raises(CodeTableError, match="it has more than 0 MiB"):
        add(path)


def test_a_part_that_is_packed_in_another_way_is_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "u.xlsx", CODES)
    with ZipFile(tmp_path / "v.xlsx", "w", ZIP_LZMA) as file:
        for name in ZipFile(path).namelist():
            file.writestr(name, ZipFile(path).read(name))
    with pytest.raises(CodeTableError, match="has a compression that workbooks do not use"):
        add(tmp_path / "v.xlsx")


def opendocument() -> bytes:
    content = io.BytesIO()
    with ZipFile(content, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("u.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
        ("u.ods", opendocument()),
        ("u.xlsb", opendocument()),
        ("u.xlsx", b"PK\x03\x04"),
        ("u.pdf", b"%PDF-1.7"),
    ],
)
def test_a_file_of_another_kind_says_what_to_save_it_as(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CodeTableError, match=r"cannot be read: .*(save it as \.xlsx|zip file)"):
        add(tmp_path / name)


def test_a_csv_file_is_unpacked_and_kept_only_up_to_its_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "u.csv"
    path.write_text("code,title\n10,Life\n11,Minerals\n", "utf-8")
    monkeypatch.setattr(ADDED, "CODES", 1)
    with pytest.raises(CodeTableError, match="more than 1 codes"):
        add(path)
    monkeypatch.setattr(ADDED, "CSV_BYTES", 10)
    with pytest.raises(CodeTableError, match="it has more than 0 MiB"):
        add(path)


def test_an_added_table_that_became_a_pipe_is_damaged(tmp_path: Path) -> None:
    place = tmp_path / "data" / "tender-pipeline" / "codes" / "unspsc.parquet"
    path = workbook(tmp_path / "u.xlsx", CODES + LIFE)
    add(path)
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(CodeTableError, match="it is not a regular file"):
        load("unspsc")
