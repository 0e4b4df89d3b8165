"""``tender-pipeline codes`` and the titles of codes, as a user meets them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from pipeline.codes import titles_in
from tests.cli.conftest import Capture, Command


def test_codes_lists_every_table_with_its_source_and_licence(
    command: Command, capsys: Capture
) -> None:
    assert command("codes") == 0
    out = capsys.readouterr().out
    for said in (
        "9,454 codes: 45 divisions",
        "CC BY 4.0",
        "25 categories, 172 groups, 2,344 codes",
        "57 segments, 546 families",
        "20 sectors",
        "NAICS 2022",
    ):
        assert said in out


def test_codes_show_says_when_a_code_was_retired_and_what_replaced_it(
    command: Command, capsys: Capture
) -> None:
    assert command("codes", "show", "d302") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "psc D302  retired, last day 2020-10-29; now DA01:"
    assert lines[1].startswith("psc DA01  IT and telecom")
    assert command("codes", "show", "D304") == 0
    assert "no single code is known to replace it" in capsys.readouterr().out
    assert command("codes", "show", "1810") == 0
    out = capsys.readouterr().out
    assert out.startswith("cpv 18100000")
    assert "psc 1810  retired, last day 2015-09-30; now 1555:" in out


def test_codes_show_places_a_code_in_its_tree(command: Command, capsys: Capture) -> None:
    assert command("codes", "show", "45233140-2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "cpv 45233140  Roadworks  (subcategory)"
    assert lines[5] == "  in 45000000  Construction work  (division)"
    assert "     45233141  Road-maintenance works" in lines
    assert "  like naics 237310  Highway, Street, and Bridge Construction" in lines


def test_an_added_table_with_fewer_codes_is_used_with_a_warning(
    command: Command, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    codes = [f"{code},Title" for code in range(10_000_001, 10_005_001)]
    for kept, warned in ((codes, False), (codes[:3], True)):
        (tmp_path / "u.csv").write_text("\n".join(["code,title", *kept]))
        assert command("codes", "add", "unspsc", "u.csv") == 0
        printed = capsys.readouterr()
        assert f"unspsc {len(kept):,} codes" in printed.out
        assert ("No run gives those that u.csv lacks." in printed.err) is warned
    assert printed.err.endswith("tender-pipeline codes remove unspsc\n")


def test_titles_are_in_the_language_that_is_asked_for(
    command: Command, table: Path, capsys: Capture
) -> None:
    systems = ("--systems", "cpv", "--systems", "psc", "--top", 2)
    assert command("run", table, *systems, "--output", "en.csv") == 0
    assert command("run", table, *systems, "--output", "de.csv", "--language", "DE") == 0
    with Path("en.csv").open() as english, Path("de.csv").open() as german:
        rows = list(zip(csv.DictReader(english), csv.DictReader(german), strict=True))
    for before, after in rows:
        matches = [match["title"] for match in json.loads(after["cpv_matches"] or "[]")]
        codes = [match["code"] for match in json.loads(after["cpv_matches"] or "[]")]
        assert matches == [titles_in("de")[code] for code in codes]
        assert after["cpv_title"] == next(iter(matches), "")
        changed = {"cpv_title", "cpv_matches"}
        assert {name: before[name] for name in before.keys() - changed} == {
            name: after[name] for name in after.keys() - changed
        }
    assert json.loads(Path("de.csv.manifest.json").read_text())["settings"]["language"] == "de"
    assert command("run", table, *systems, "--output", "de.csv", "--language", "tlh") == 2
    assert "There are no titles in the language 'tlh'." in capsys.readouterr().err
    assert command("codes", "show", "45233140", "--language", "fr") == 0
    assert capsys.readouterr().out.startswith("cpv 45233140  Travaux routiers")
    assert command("codes", "search", "road", "--language", "xx") == 2
    assert command("codes", "search", "road", *systems) == 0
    assert {line[:3] for line in capsys.readouterr().out.splitlines()} == {"cpv", "psc"}


@pytest.mark.parametrize(
    ("words", "system", "begins"),
    [
        ("Straßenmarkierungen", "cpv", "349"),
        ("laptop", "cpv", "30213100"),  # no title has the word
        ("Reinigung", "unspsc", "761115"),
    ],
)
def test_codes_search_finds_codes_by_words_of_any_language(
    command: Command, capsys: Capture, words: str, system: str, begins: str
) -> None:
    assert command("codes", "search", words, "--systems", system, "--top", 3) == 0
    found = capsys.readouterr().out.splitlines()
    assert any(line.split()[1].startswith(begins) for line in found[:2])
    assert len(found) <= 3


def test_a_damaged_added_table_does_not_hide_the_others(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    added = tmp_path / "tender-pipeline" / "codes" / "unspsc.parquet"
    added.parent.mkdir(parents=True)
    added.write_bytes(b"torn")
    assert command("codes", "show", "45000000") == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("cpv 45000000  Construction work")
    assert "Warning: The added table" in shown.err
    assert "codes remove unspsc" in shown.err
    assert command("codes") == 0
    assert "naics" in capsys.readouterr().out
