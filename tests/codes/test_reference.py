"""The shipped tables agree with third-party lists, where those lie beside the checkout."""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.answers import Matched, System
from pipeline.codes import cpv_titles, load, remove, retirements
from pipeline.codes.shipped import shipped
from pipeline.codes.unspsc_file import add
from pipeline.engine import Engine, ranker

REFERENCE = Path(__file__).parents[3] / "shared" / "codes"

pytestmark = pytest.mark.skipif(
    not REFERENCE.is_dir(), reason="the reference lists do not lie beside this checkout"
)

PSC_WORDS = {
    "activs": "activities",
    "acvivs": "activities",
    "apllications": "applications",
    "compnts": "components",
    "conservervat": "conservation",
    "ctr": "contractor",
    "eqpt": "equipment",
    "facs": "facilities",
    "govt": "government",
    "highwy": "highway",
    "hw": "hardware",
    "insigna": "insignia",
    "matls": "materials",
    "mgmt": "management",
    "missles": "missiles",
    "preperation": "preparation",
    "qc": "quality control",
    "stmts": "statements",
    "sv": "services",
    "svcs": "services",
    "sw": "software",
}
"""The abbreviations and misspellings of the official PSC titles; others are how a word begins."""


def reference(name: str) -> Iterator[dict[str, str]]:
    with gzip.open(REFERENCE / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def psc_words(title: str) -> list[str]:
    """Return the words of a PSC title without what its writers vary: case, punctuation, "and"."""
    plain = re.sub("^[A-Z] – ", "", title).lower().replace("'", "").replace("’", "")  # noqa: RUF001
    tokens = re.findall("[a-z0-9]+", plain.replace("&", " and "))
    return " ".join(PSC_WORDS.get(token, token) for token in tokens if token != "and").split()


@pytest.mark.parametrize("system", ["cpv", "psc", "naics"])
def test_the_codes_are_exactly_the_official_ones(system: System) -> None:
    assert sorted(shipped(system).titles) == sorted(row["code"] for row in reference(system))


@pytest.mark.parametrize("system", ["cpv", "psc", "naics", "unspsc"])
def test_every_code_has_the_official_parent_and_level(system: System) -> None:
    table = shipped(system)
    official = {row["code"]: (row["parent"], row["level"]) for row in reference(system)}
    for code, above in table.parents.items():
        assert (code, above, table.level(code)) == (code, *official[code])


@pytest.mark.parametrize("system", ["cpv", "naics", "unspsc"])
def test_every_code_has_the_official_title(system: System) -> None:
    official = {row["code"]: row["title"] for row in reference(system)}
    for code, title in shipped(system).titles.items():
        assert (code, title) == (code, official[code])


def test_psc_titles_are_the_official_ones_written_out() -> None:
    official = {row["code"]: row["title"] for row in reference("psc")}
    for code, title in shipped("psc").titles.items():
        ours, theirs = psc_words(title), psc_words(official[code])
        assert len(ours) == len(theirs) and all(map(str.startswith, ours, theirs)), code


def test_the_retired_psc_and_their_last_days_are_exactly_the_official_ones() -> None:
    official = {row["code"]: row["end_date"] for row in reference("psc_retired")}
    ours = {code: end.until.isoformat() for code, end in retirements("psc").items()}
    assert ours == official


def test_cpv_titles_are_the_official_ones_in_all_languages() -> None:
    official: dict[str, dict[str, str]] = defaultdict(dict)
    ukrainian = [row for row in reference("more/cpv_titles_uk_ru_ka") if row["lang"] == "uk"]
    for row in [*reference("cpv_labels_multilingual"), *ukrainian]:
        official[row["lang"]][row["code"]] = row["title"]
    ours = {
        language: dict(zip(shipped("cpv").titles, titles, strict=True))
        for language, titles in cpv_titles().items()
    }
    assert ours.keys() == official.keys()
    for language, titles in ours.items():
        assert titles == official[language], language


def test_unspsc_has_all_segments_and_families_and_many_classes() -> None:
    official = Counter(row["level"] for row in reference("unspsc"))
    counts = shipped("unspsc").counts
    assert counts["segment"] == official["segment"] == 57
    assert counts["family"] == official["family"] == 546
    assert counts["class"] >= 600


def test_with_the_full_unspsc_list_added_the_engine_answers_down_to_commodities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    request.addfinalizer(ranker.cache_clear)
    ranker.cache_clear()
    file = tmp_path / "unspsc.csv"
    file.write_bytes(gzip.decompress((REFERENCE / "unspsc.csv.gz").read_bytes()))
    add(file)
    table = load("unspsc")
    assert dict(table.titles) == {row["code"]: row["title"] for row in reference("unspsc")}
    assert dict(table.parents) == {row["code"]: row["parent"] for row in reference("unspsc")}
    (answers,) = Engine(["unspsc"]).answers([["wheelchair"]])
    (answer,) = answers["unspsc"]
    assert isinstance(answer, Matched)
    assert "commodity" in {table.level(match.code) for match in answer.matches}
    assert remove("unspsc")
