"""The code tables, the crosswalk and the retired codes that are shipped with the package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from pipeline.answers import System
from pipeline.codes.normalization import normalized
from pipeline.codes.table import CodeTable

if TYPE_CHECKING:
    import pyarrow as pa

DATA = Path(__file__).parent / "data"


@cache
def shipped(system: System) -> CodeTable:
    """Return the shipped table of a system."""
    about, titles = _read_tsv(DATA / f"{system}.tsv")
    return CodeTable(system, about["edition"], about["source"], about["licence"], titles)


def cpv_titles() -> dict[str, list[str]]:
    """Return the CPV titles by language, English first, each in the order of the codes."""
    return {"en": [*shipped("cpv").titles.values()], **translations().to_pydict()}


@cache
def titles_in(language: str) -> Mapping[str, str]:
    """Return the CPV titles in a language of `pipeline.settings.LANGUAGES`, by code."""
    titles = shipped("cpv").titles
    if language == "en":
        return titles
    return dict(zip(titles, translations()[language].to_pylist(), strict=True))


def counterparts(system: System) -> dict[str, tuple[str, ...]]:
    """Return the codes of another system that an expert would give, best first, by CPV code.

    A CPV code that the file does not name has those of its nearest ancestor there. Divisions have
    none: they say too little.
    """
    header, *lines = (
        line.split("\t")
        for line in (DATA / "crosswalk.tsv").read_text("utf-8").splitlines()
        if not line.startswith("#")
    )
    column = header.index(system)
    named = {line[0]: tuple(line[column].split()) for line in lines}
    parents = shipped("cpv").parents
    by_code: dict[str, tuple[str, ...]] = {}
    for code in parents:  # each after its parent
        codes = named.get(code) or by_code.get(parents[code])
        if codes:
            by_code[code] = codes
    return by_code


@cache
def translations() -> pa.Table:
    """Return the CPV titles in the languages other than English, in the order of the codes."""
    import pyarrow as pa  # slow to import, and `--help` needs no titles

    with pa.memory_map(str(DATA / "cpv_titles.arrow")) as file, pa.ipc.open_file(file) as reader:
        return reader.read_all()


def _read_tsv(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Read ``# key: value`` lines, a header line, then lines with a code and a title."""
    head, _, body = path.read_text("utf-8").partition("code\ttitle\n")
    about = dict(line.removeprefix("# ").split(": ", 1) for line in head.splitlines())
    return about, dict(line.split("\t", 1) for line in body.splitlines())


@dataclass(frozen=True, slots=True)
class Retired:
    """When a code was retired, and what replaced it.

    Attributes:
        until: the last day on which it was valid.
        successor: the code of the current table that replaced it; None if there is none, if its
            meaning was split among several, or if it is unknown.
    """

    until: date
    successor: str | None


def retired(code: str) -> Retired | None:
    """Return when a PSC was retired; None for a valid or an unknown code."""
    return retirements("psc").get(normalized("psc", code) or "")


@cache
def retirements(system: System) -> Mapping[str, Retired]:
    """Return the retired codes of a system; only PSC has any."""
    if system != "psc":
        return {}
    lines = (DATA / "psc_retired.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return MappingProxyType(
        {
            code: Retired(date.fromisoformat(until), successor[0] if successor else None)
            for code, until, *successor in rows
        }
    )
