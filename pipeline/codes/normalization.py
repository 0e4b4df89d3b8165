"""The one place that turns a code as somebody wrote it into the form of the code tables."""

from __future__ import annotations

import re

from pipeline.answers import System
from pipeline.codes.table import SECTORS, CodeTable, full_code

FRACTION = re.compile(r"(\d+)\.0+", re.ASCII)
"""What pandas makes of whole numbers if their column has empty cells."""

THOUSANDS = re.compile(r"\d{1,3}(?:([ .,'\u2019\u00a0\u202f])\d{3})(?:\1\d{3})*", re.ASCII)
"""A whole number as spreadsheets show it."""

EXPONENT = re.compile(r"(\d)E\+(\d\d)", re.ASCII)
"""What spreadsheets make of the PSC code 7E20."""

CHECKED = re.compile(r"(\d{2,8})\s*-\s*\d(?!\d).*")
"""A CPV code with its check digit, and whatever follows it. It is matched from the start: a search
for the hyphen would take minutes in a long text of white space, and a service reads any text."""

WHOLE = {
    "cpv": r"\d{8}",
    "psc": r"(?=.{0,3}\d)[0-9A-Z]{4}",
    "unspsc": r"\d{8}|\d\d-\d\d-\d\d-\d\d",
    "naics": r"\d{6}",
}
TITLED = {
    system: re.compile(rf"({code})(?:\s*[-\u2013:]\s*|\s+)[^\W\d_].+", re.DOTALL)
    for system, code in WHOLE.items()
}
"""A whole code with its title, ``39160000 - School furniture``; one letter more is another code."""

FORMS = {
    "cpv": re.compile(r"\d{2,8}", re.ASCII),
    "psc": re.compile(r"[0-9A-Z]{1,2}|[0-9A-Z]{4}"),
    "unspsc": re.compile(r"(\d\d){1,4}", re.ASCII),
    "naics": re.compile(rf"\d{{2,6}}|{'|'.join(set(SECTORS.values()))}", re.ASCII),
}


def normalized(system: System, written: str) -> str | None:
    """Return a code in the form of the tables, whether or not a table has it.

    Removed are surrounding white space, a title after a whole code, the fraction of
    ``45233140.0``, the separators of thousands, a CPV check digit and the hyphens of UNSPSC.
    Letters become capitals, short CPV and UNSPSC codes get trailing zeros, and 31, 32 and 33 become
    the NAICS sector 31-33. A CPV code of seven digits that ends with a zero gets the leading zero
    that a spreadsheet removed.

    Returns:
        The code; None for a malformed code.
    """
    return next(iter(spellings(system, written)), None)


def find_code(table: CodeTable, written: str) -> str | None:
    """Return the table's code for a code as somebody wrote it, None if the table lacks it.

    As `normalized`, but the table decides whether a CPV code of seven digits lacks a leading or a
    trailing zero.
    """
    return next((code for code in spellings(table.system, written) if code in table), None)


def spellings(system: System, written: str) -> list[str]:
    """Return the codes that may be meant, the likeliest first; none for a malformed code."""
    short = written.strip().upper()
    if titled := TITLED[system].fullmatch(short):
        short = titled[1]
    elif whole := FRACTION.fullmatch(short):
        short = whole[1]
    elif THOUSANDS.fullmatch(short):
        short = "".join(filter(str.isdigit, short))
    if system == "psc":
        short = EXPONENT.sub(r"\1E\2", short)
    if system == "cpv":
        checked = CHECKED.fullmatch(short)
        short = short if checked is None else checked[1]
    if system == "unspsc":
        short = short.replace("-", "")
    if FORMS[system].fullmatch(short) is None:
        return []
    codes = [full_code(system, short)]
    if system == "cpv" and len(short) == 7:
        # Nobody drops just one of several trailing zeros: after a zero, the leading one is missing.
        codes.insert(0 if short.endswith("0") else 1, f"0{short}")
    return codes
