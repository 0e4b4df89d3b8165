"""Composes the PSC table from short lists, since most titles combine a service with an object."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

__all__ = ["titles"]

SOURCE = Path(__file__).with_name("psc.toml")

Table = dict[str, Any]
Titles = dict[str, str]


def titles() -> Titles:
    """Return the title of every category, group and code, in the order of the codes."""
    source = tomllib.loads(SOURCE.read_text("utf-8"))
    found: Titles = dict(source["categories"])
    for part in (_supplies, _research, _technology, _services):
        found |= part(source)
    return dict(sorted(found.items()))


def _keyed(table: Table, length: int) -> Titles:
    """Return the entries whose keys are parts of codes; the others are options of the table."""
    return {key: title for key, title in table.items() if len(key) == length}


def _supplies(source: Table) -> Titles:
    titles: Titles = {}
    for group, table in source["supplies"].items():
        titles[group] = table["title"]
        titles |= {group + key: title for key, title in _keyed(table, 2).items()}
    return titles


def _research(source: Table) -> Titles:
    titles: Titles = {}
    for group, table in source["research"].items():
        titles[group] = table["title"]
        for key, subject in _keyed(table, 1).items():
            for stage, work in source["stages"].items():
                titles[group + key + stage] = f"{table['title']}; {subject}; {work}"
        titles |= {group + key: title for key, title in _keyed(table, 2).items()}
    return titles


def _technology(source: Table) -> Titles:
    titles: Titles = {}
    for subject, table in source["technology"].items():
        titles |= {category + subject: table["title"] for category in "7D"}
        for key, title in _keyed(table, 2).items():
            titles[("7" if key.startswith("2") else "D") + subject + key] = title
    return {code: f"IT and telecom: {title}" for code, title in titles.items()}


def _services(source: Table) -> Titles:
    groups: Titles = {group: table["title"] for group, table in source["supplies"].items()}
    lists = {"equipment": groups | source["equipment"], "structures": source["structures"]}
    titles: Titles = {}
    for group, table in source["services"].items():
        items = lists[table["list"]] if "list" in table else {}
        titles[group] = table["title"]
        for key, item in (items | _keyed(table, 2)).items():
            if key not in table.get("without", []):
                titles[group + key] = table.get("each", "{}").format(item)
    return titles
