"""Workbooks made for a test, and what another reader finds in them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import pyarrow as pa
from python_calamine import load_workbook
from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

from pipeline.settings import ExcelOptions
from pipeline.tables.formats import open_reader
from pipeline.tables.table import ARROW_USD
from tests.tables.rewriting import rewrite_all

CODE, COST = pa.field("code", pa.string()), pa.field("cost", ARROW_USD)
NEW = ("=1+1", Decimal("0.1"))

Fill = Callable[[Workbook, Worksheet], None]


def workbook(path: Path, fill: Fill, name: str = "Data", **options: Any) -> Path:
    with Workbook(path, options) as book:
        fill(book, book.add_worksheet(name))
    return path


def cells(path: Path, part: str = "xl/worksheets/sheet1.xml") -> dict[int, dict[str, bytes]]:
    """Return the XML of all cells of a sheet, by row and place."""
    root = ElementTree.fromstring(ZipFile(path).read(part))
    return {
        int(row.attrib["r"]): {c.attrib["r"]: ElementTree.tostring(c) for c in row}
        for row in root.iterfind(".//{*}row")
    }


def rewritten(path: Path, output: Path, excel: ExcelOptions | None = None) -> Path:
    rewrite_all(open_reader(path, (), excel=excel), output, NEW, "xlsx", [CODE, COST])
    return output


def calamine(path: Path) -> list[list[Any]]:
    """Read the first sheet with another reader."""
    return load_workbook(path).get_sheet_by_index(0).to_python()
