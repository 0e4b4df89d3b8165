"""The code tables and phrases that are shipped with the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files

import pyarrow.parquet as pq

from pipeline.answers import System
from pipeline.codes import psc
from pipeline.codes.levels import parent
from pipeline.codes.table import CodeTable

__all__ = ["DATA", "counterparts", "cpv_titles", "phrases", "shipped", "titles_in"]

DATA = files("pipeline.codes") / "data"


@cache
def shipped(system: System) -> CodeTable:
    """Return the shipped table of a system."""
    loaders = {"cpv": _cpv, "psc": _psc, "unspsc": _unspsc, "naics": _naics}
    return loaders[system]()


def cpv_titles() -> dict[str, list[str]]:
    """Return the CPV titles by language, English first, each in the order of the codes."""
    with as_file(DATA / "cpv.parquet") as path:
        table = pq.ParquetFile(path).read()
    return {name: table[name].to_pylist() for name in table.column_names if name != "code"}


@cache
def titles_in(language: str) -> dict[str, str]:
    """Return the CPV titles in a language of `pipeline.languages.LANGUAGES`, by code."""
    with as_file(DATA / "cpv.parquet") as path:
        table = pq.ParquetFile(path).read(["code", language])
    return dict(zip(table["code"].to_pylist(), table[language].to_pylist(), strict=True))


def phrases(system: System) -> list[tuple[str, str]]:
    """Return (code, phrase) pairs to train models: how buyers word a code, in several languages."""
    lines = (DATA / f"phrases_{system}.tsv").read_text("utf-8").splitlines()
    rows = (line.partition("\t") for line in lines if not line.startswith("#"))
    return [(code, phrase) for code, _, some in rows for phrase in some.split(" | ")]


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
    found: dict[str, tuple[str, ...]] = {}
    for code in parents:  # each after its parent
        codes = named.get(code) or found.get(parents[code])
        if codes:
            found[code] = codes
    return found


def _cpv() -> CodeTable:
    with as_file(DATA / "cpv.parquet") as path:
        table = pq.ParquetFile(path).read(["code", "en"])  # read_table would import pandas
    about = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    titles = dict(zip(table["code"].to_pylist(), table["en"].to_pylist(), strict=True))
    return _table("cpv", about, titles)


def _naics() -> CodeTable:
    return _table("naics", *_read_tsv("naics.tsv"))


def _unspsc() -> CodeTable:
    return _table("unspsc", *_read_tsv("unspsc.tsv"))


def _psc() -> CodeTable:
    about = {
        "edition": "April 2025",
        "source": "US General Services Administration, Product and Service Codes Manual",
        "licence": "public domain",
    }
    return _table("psc", about, psc.titles())


def _table(system: System, about: dict[str, str], titles: dict[str, str]) -> CodeTable:
    parents = {code: parent(system, code, titles) for code in titles}
    return CodeTable(system, about["edition"], about["source"], about["licence"], titles, parents)


def _read_tsv(name: str) -> tuple[dict[str, str], dict[str, str]]:
    """Read ``# key: value`` lines, a header line, then lines with a code and a title."""
    about: dict[str, str] = {}
    titles: dict[str, str] = {}
    for line in (DATA / name).read_text("utf-8").splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition(": ")
            about[key] = value
        else:
            code, _, title = line.partition("\t")
            titles[code] = title
    del titles["code"]
    return about, titles
