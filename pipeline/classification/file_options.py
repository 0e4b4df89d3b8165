"""Checks the arguments of a Python call that describe its file, or refuses them without one."""

from __future__ import annotations

from typing import Any

from pipeline.errors import SettingsError
from pipeline.settings import CsvOptions, ExcelOptions

__all__ = ["check_no_file", "checked_csv", "checked_excel"]


def check_no_file(csv: Any, excel: Any) -> None:
    """Refuse options that describe a file for a table in memory.

    Raises:
        SettingsError: there are some.
    """
    if csv is not None or excel is not None:
        raise SettingsError(
            "csv and excel describe a file, and this table is in memory.",
            "Leave them out, or give the path of the file.",
        )


def checked_csv(csv: Any) -> CsvOptions:
    """Return the dialect of a CSV file; None stands for the detected one.

    Raises:
        SettingsError: it is something else.
    """
    if csv is not None and not isinstance(csv, CsvOptions):
        raise SettingsError(
            f"csv is {csv!r}.", "csv must be a CsvOptions: pipeline.CsvOptions(delimiter=';')."
        )
    return csv or CsvOptions()


def checked_excel(excel: Any) -> ExcelOptions:
    """Return the options of a workbook; None stands for the usual ones.

    Raises:
        SettingsError: it is something else.
    """
    if excel is not None and not isinstance(excel, ExcelOptions):
        raise SettingsError(
            f"excel is {excel!r}.",
            "excel must be an ExcelOptions: pipeline.ExcelOptions(sheet='Tenders').",
        )
    return excel or ExcelOptions()
