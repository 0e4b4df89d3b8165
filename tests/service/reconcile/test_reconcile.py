"""Cells become candidates: by their codes, by their texts, at the level that is wanted."""

from __future__ import annotations

from decimal import Decimal

import pytest
from starlette.applications import Starlette

from pipeline.answers import SYSTEMS, Match, Matched
from pipeline.service.accounts import Accounts
from tests import fakes
from tests.service.reconcile.conftest import Refine

pytestmark = pytest.mark.anyio

ROAD_PRICE = Decimal("0.0000765")


async def test_a_text_has_the_candidates_of_a_call(refine: Refine) -> None:
    road, roads = await refine.candidates("road")
    assert road == {
        "id": "45233140",
        "name": "Roadworks",
        "description": "subcategory in Construction work for highways, roads",
        "type": [{"id": "cpv", "name": "any CPV code"}],
        "score": 90.0,
        "match": True,
        "features": [{"id": "confidence", "value": 0.9}],
    }
    assert (roads["id"], roads["score"], roads["match"]) == ("45233000", 40.0, False)


async def test_types_that_are_guessed_from_candidates_leave_the_level_open(refine: Refine) -> None:
    """OpenRefine sends ten cells for three candidates each, and counts the types of these."""
    cells = {
        f"q{number}": {"query": text, "limit": 3}
        for number, text in enumerate(["road", "chairs", "gibberish", "45233140", "45"])
    }
    found = await refine.reconcile(cells)
    types = {
        kind["id"] for each in found.values() for one in each["result"] for kind in one["type"]
    }
    assert types == {"cpv"}


async def test_a_doubtful_text_is_matched_by_nobody_but_a_person(refine: Refine) -> None:
    assert [each["match"] for each in await refine.candidates("chairs")] == [False]
    assert await refine.candidates("gibberish") == []


@pytest.mark.parametrize("written", ["45233140", " 45233140-2 ", "45233140.0"])
async def test_a_cell_that_is_a_code_is_matched_free_of_charge(
    app: Starlette, accounts: Accounts, written: str
) -> None:
    key = accounts.open().key
    (found,) = await Refine(app, f"/reconcile/{key}/cpv").candidates(written)
    assert (found["id"], found["score"], found["match"]) == ("45233140", 100.0, True)
    assert accounts.statement.charges() == []


async def test_the_short_form_of_a_code_is_a_candidate_and_not_a_match(refine: Refine) -> None:
    (found,) = await refine.candidates("45")
    assert (found["id"], found["match"]) == ("45000000", False)


async def test_candidates_are_lifted_to_the_wanted_level_and_added_up(
    refine: Refine, monkeypatch: pytest.MonkeyPatch
) -> None:
    matches = (
        Match("45233140", "Roadworks", 0.5),
        Match("45000000", "Construction work", 0.25),
        Match("39112000", "Chairs", 0.125),
        Match("45233000", "Roads", 0.1),
    )
    monkeypatch.setitem(fakes.ANSWERS, "mixed", Matched(matches))
    found = await refine.candidates("mixed", type="division", type_strict="should")
    assert [(each["id"], each["score"]) for each in found] == [
        ("45000000", 85.0),
        ("39000000", 12.5),
    ]
    assert found[0]["type"][0] == {"id": "division", "name": "CPV division"}
    deeper = await refine.candidates("mixed", type="category")
    assert [(each["id"], each["score"]) for each in deeper] == [
        ("45233000", 60.0),
        ("39112000", 12.5),
    ]
    assert await refine.candidates("mixed", type=["category", "category"]) == deeper
    (code,) = await refine.candidates("45233140", type="group")
    assert code["id"] == "45200000"


async def test_the_usual_number_of_candidates_is_five_and_the_most_ten(
    refine: Refine, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = [f"452331{number}0" for number in range(1, 7)] + ["45000000", "45200000", "45230000"]
    matches = tuple(Match(code, code, 0.09) for code in [*codes, "45233000", "45233140"])
    known = Matched(tuple(dict.fromkeys(matches))[:10])
    monkeypatch.setitem(fakes.ANSWERS, "many", known)
    assert len(await refine.candidates("many")) == 5
    assert len(await refine.candidates("many", limit=2)) == 2
    assert len(await refine.candidates("many", limit=1000)) >= 9


async def test_further_columns_are_part_of_the_text(refine: Refine) -> None:
    """The texts are joined as `run` joins text columns."""
    from_two = {"query": "", "properties": [{"pid": "text", "v": " road "}]}
    assert (await refine.reconcile({"q": from_two}))["q"]["result"] == await refine.candidates(
        "road"
    )


async def test_a_cell_that_cannot_be_asked_about_spoils_no_other(
    app: Starlette, accounts: Accounts
) -> None:
    refine = Refine(app, f"/reconcile/{accounts.open().key}/cpv")
    cells = {"blank": " \t", "long": "x" * 100_000, "half": "\ud800", "road": "road"}
    found = await refine.reconcile({name: {"query": text} for name, text in cells.items()})
    assert {name: len(each["result"]) for name, each in found.items()} == {
        "blank": 0,
        "long": 0,
        "half": 0,
        "road": 2,
    }
    assert [each.price_usd for each in accounts.statement.charges()] == [ROAD_PRICE]


async def test_a_code_that_the_table_lacks_is_not_a_candidate(
    refine: Refine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fakes.ANSWERS, "odd", Matched((Match("99999999", "Nothing", 0.9),)))
    assert await refine.candidates("odd") == []


async def test_extension_has_titles_and_parents(refine: Refine) -> None:
    names = ("title", "title-de", "level", "parent", "path", "division", "subcategory")
    asked = {"ids": ["45233000", "nothing"], "properties": [{"id": name} for name in names]}
    rows = (await refine.post("extend", asked)).json()["rows"]
    assert rows["nothing"] == {name: [] for name in names}
    row = rows["45233000"]
    assert row["level"] == [{"str": "category"}]
    assert "road" in row["title"][0]["str"]
    assert "Straßen" in row["title-de"][0]["str"]
    assert [each["id"] for each in row["parent"]] == ["45230000"]
    path = ["45000000", "45200000", "45230000", "45233000"]
    assert [each["id"] for each in row["path"]] == path
    assert row["division"] == [{"id": "45000000", "name": "Construction work"}]
    assert row["subcategory"] == []


@pytest.mark.parametrize(
    "typed", ["45233140", "45233140-2", "Roadworks", "straßenarbeiten", "works (road) repai"]
)
async def test_a_search_finds_codes_by_digits_and_words_in_every_language(
    refine: Refine, typed: str
) -> None:
    found = (await refine.get("/suggest/entity", prefix=typed)).json()["result"]
    expected = "45233142" if typed.endswith("repai") else "45233140"
    assert found[0]["id"] == expected


async def test_a_search_has_pages_and_nothing_typed_finds_nothing(refine: Refine) -> None:
    pages = [
        [each["id"] for each in (await refine.get("/suggest/entity", **query)).json()["result"]]
        for query in ({"prefix": "452"}, {"prefix": "452", "cursor": "20"}, {"prefix": " "})
    ]
    assert [len(page) for page in pages] == [20, 20, 0]
    assert not set(pages[0]) & set(pages[1])


@pytest.mark.parametrize("system", SYSTEMS)
async def test_types_are_the_levels_of_the_system(app: Starlette, system: str) -> None:
    found = (await Refine(app, f"/reconcile/{system}").get("/suggest/type", prefix="")).json()
    ids = [each["id"] for each in found["result"]]
    assert ids[0] == system
    assert len(ids) == len(set(ids)) > 3
