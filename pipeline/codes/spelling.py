"""Finds the code that somebody wrote in another way: short, or with a check digit."""

from __future__ import annotations

import re

from pipeline.codes.table import CodeTable

__all__ = ["FRACTION", "spelt"]

FRACTION = re.compile(r"(?<=\d)\.0+$")
"""What pandas writes behind whole numbers that stood in a column with empty cells."""

FULL = {"cpv": 8, "unspsc": 8}
"""Digits of a full code, in systems whose general codes end with zeros."""


def spelt(table: CodeTable, code: str) -> str | None:
    """Return a code as the table writes it, None if the table lacks it.

    White space and the fraction of ``45233140.0`` go, a CPV check digit (``45233140-2``) too;
    letters become capitals; a short CPV or UNSPSC code is filled up with zeros. A CPV code of seven
    digits may have lost the zero in front to a spreadsheet.
    """
    short = FRACTION.sub("", code.strip().upper())
    if table.system == "cpv":
        short = short.partition("-")[0].strip()
    if table.system == "unspsc":
        short = short.replace("-", "")
    forms = [short, short.ljust(FULL.get(table.system, 0), "0")]
    if table.system == "cpv" and len(short) == FULL["cpv"] - 1:
        # Nobody leaves out one of several zeros at the end: then it is the one in front that lacks.
        forms.insert(0 if short.endswith("0") else len(forms), f"0{short}")
    return next((form for form in forms if short and form in table), None)
