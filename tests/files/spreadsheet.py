"""Writes the smallest spreadsheet that a reader takes for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape
from zipfile import ZIP_STORED, ZipFile, ZipInfo

Cell = str | int | float

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"

SHEET_PART = "xl/worksheets/sheet1.xml"

PARTS = {
    "[Content_Types].xml": f"""<Types xmlns="{PACKAGE}/content-types">
        <Default Extension="rels"
            ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
        <Override PartName="/xl/workbook.xml" ContentType="{TYPES}.sheet.main+xml"/>
        <Override PartName="/xl/worksheets/sheet1.xml" ContentType="{TYPES}.worksheet+xml"/>
        </Types>""",
    "_rels/.rels": f"""<Relationships xmlns="{PACKAGE}/relationships">
        <Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>
        </Relationships>""",
    "xl/workbook.xml": f"""<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}">
        <sheets><sheet name="UNSPSC" sheetId="1" r:id="rId1"/></sheets></workbook>""",
    "xl/_rels/workbook.xml.rels": f"""<Relationships xmlns="{PACKAGE}/relationships">
        <Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>
        </Relationships>""",
}


def write_xlsx(path: Path, rows: Mapping[int, Sequence[Cell]]) -> None:
    """Write rows by their number, counted from 1; "" leaves a cell out."""
    written = (
        f'<row r="{number}">{"".join(_cells(number, row))}</row>' for number, row in rows.items()
    )
    of_xml(path, "".join(written))


def of_xml(
    path: Path,
    rows: str,
    more: Mapping[str, str] | None = None,
    packing: int = ZIP_STORED,
    names: Mapping[str, str] | None = None,
) -> Path:
    """Write a workbook with the XML of the rows of its sheet, and with more or other parts.

    Of the names of parts, what ``names`` has is replaced.
    """
    sheet = f'<worksheet xmlns="{SHEET}"><sheetData>{rows}</sheetData></worksheet>'
    with ZipFile(path, "w") as file:
        for name, content in {**PARTS, SHEET_PART: sheet, **(more or {})}.items():
            entry = ZipInfo()
            entry.filename = name
            for old, new in (names or {}).items():
                known = {"slash": "/", "sheet": "sheet1"}.get(old, old)
                entry.filename = entry.filename.replace(known, new)
            file.writestr(entry, content, packing)
    return path


def _cells(number: int, row: Sequence[Cell]) -> list[str]:
    return [
        _cell(f"{chr(ord('A') + place)}{number}", cell)
        for place, cell in enumerate(row)
        if cell != ""
    ]


def _cell(at: str, cell: Cell) -> str:
    return text(at, cell) if isinstance(cell, str) else f'<c r="{at}"><v>{cell}</v></c>'


def text(at: str, value: str) -> str:
    """Return the XML of a cell with a text."""
    return f'<c r="{at}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
