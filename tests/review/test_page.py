"""What a reviewer sees and does on the page, and who else may use it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.decisions.samples import chose, nothing_fits, write
from tests.review.conftest import TEXTS, Open, enriched

pytestmark = pytest.mark.anyio

SPRUCE, NOISE, DIESEL = TEXTS[1], TEXTS[2], TEXTS[5]


async def test_the_texts_that_need_a_look_come_once_each_with_their_candidates(sit: Open) -> None:
    sitting = sit()
    await sitting.start()
    assert sitting.text == SPRUCE
    assert "0 of 3 texts decided" in sitting.page.text
    assert "Row 3 and 1 more row. The best match is doubtful." in sitting.page.text
    assert len(sitting.codes) == len(set(sitting.codes)) == 9
    best = next(each for each in sitting.page.each("button") if "autofocus" in each.attributes)
    assert best.attributes["value"] == sitting.codes[0]
    assert "about 4 in 10" in best.text
    assert [each.text for each in sitting.page.each("mark")]


async def test_codes_have_the_titles_of_the_language_of_the_run(sit: Open, tmp_path: Path) -> None:
    sitting = sit(enriched(tmp_path, ["Tannen fällen"], language="de", min_confidence=1.0))
    await sitting.start()
    await sitting.go("/?q=45233140&system=cpv")
    (roads,) = (each for each in sitting.page.each("button") if "45233140" in each.text)
    assert "Straßenarbeiten" in roads.text and "45 Bauarbeiten" in roads.text
    assert "Construction" not in sitting.page.text
    await sitting.choose("45233140")
    assert sitting.decisions[0].title == "Straßenarbeiten"


async def test_each_decision_is_on_the_disk_before_the_next_text(sit: Open, table: Path) -> None:
    sitting = sit()
    await sitting.start()
    best, second = sitting.codes[:2]
    await sitting.choose(second)
    assert sitting.outcomes == [second]
    assert f"Saved: CPV {second}" in sitting.page.text
    assert sitting.text == NOISE
    assert sitting.codes == []
    await sitting.choose("none")
    assert sitting.text == DIESEL
    await sitting.choose("skip")
    assert sitting.text == DIESEL  # the only one that is left
    await sitting.choose(sitting.codes[0])
    assert "Nothing is left to review." in sitting.page.text
    assert sitting.outcomes[:3] == [second, "none", "skip"]
    first = sitting.decisions[0]
    assert (first.system, first.text, first.by, first.best) == ("cpv", SPRUCE, "Anna", best)
    assert first.model.startswith("engine ")
    assert first.confidence is not None and not first.blind and not first.batch
    assert first.at.endswith("+00:00")


async def test_skipped_texts_come_last(sit: Open) -> None:
    sitting = sit()
    await sitting.start()
    seen = []
    for _ in range(5):
        seen.append(sitting.text)
        await sitting.choose("skip")
    assert seen == [SPRUCE, NOISE, DIESEL, SPRUCE, NOISE]


async def test_undo_takes_back_the_last_decision_and_shows_its_text(sit: Open) -> None:
    sitting = sit()
    await sitting.start()
    await sitting.post("/undo")
    assert "There is nothing to undo." in sitting.page.text
    await sitting.choose("none")
    await sitting.choose("none")
    await sitting.post("/undo")
    assert sitting.text == NOISE
    await sitting.post("/undo")
    assert sitting.text == SPRUCE
    assert sitting.outcomes == ["none", "none", "undo", "undo"]
    assert sitting.review.made == 0


async def test_the_next_sitting_continues_and_can_undo_the_last_one(sit: Open) -> None:
    first = sit()
    await first.start()
    for choice in ("skip", "none", "none"):
        await first.choose(choice)
    first.finish()
    second = sit()
    await second.start()
    assert "2 of 3 texts decided" in second.page.text
    assert second.text == SPRUCE
    await second.post("/undo")
    assert second.text == DIESEL


async def test_a_candidate_leads_to_the_codes_below_it(sit: Open) -> None:
    sitting = sit()
    await sitting.start()
    await sitting.go("/?q=0913&order=table")
    links = [each for each in sitting.page.each("a") if each.attributes.get("class") == "below"]
    assert [each.attributes["data-shift"] for each in links][:1] == ["2"]
    await sitting.go(links[0].attributes["href"].replace("&amp;", "&"))
    assert sitting.text == SPRUCE
    assert sitting.codes[0] in links[0].text
    assert 'name="order" value="table"' in sitting.response.text


async def test_search_finds_codes_by_the_words_of_their_titles(sit: Open, tmp_path: Path) -> None:
    sitting = sit(enriched(tmp_path, [SPRUCE], systems="psc", min_confidence=1.0))
    await sitting.start()
    await sitting.go("/?q=snow+removal")
    assert sitting.codes[0] == "S218"
    assert "codesfor“snowremoval”" in sitting.words
    await sitting.go("/?q=laptop")
    assert sitting.codes[0] == "7E20", "no title has the word"
    await sitting.go("/?q=S2")
    assert {len(code) for code in sitting.codes} == {4}, "no tender has the group"
    await sitting.go("/?q=%3Cscript%3E--")
    assert "<script>--" not in sitting.response.text


async def test_filters_choose_the_texts_and_stay(sit: Open) -> None:
    sitting = sit()
    await sitting.start()
    await sitting.go("/?status=no_match")
    assert sitting.text == NOISE
    await sitting.choose("none", status="no_match")
    assert "Nothing is left to review here." in sitting.page.text
    await sitting.go("/?status=ok")
    assert sitting.text == TEXTS[0]
    await sitting.go("/?band=likely&order=unsure")
    assert sitting.text == DIESEL
    await sitting.go("/?band=doubtful")
    assert sitting.text == SPRUCE
    await sitting.go("/?band=sure")
    assert "0 of 0 texts decided" in sitting.page.text
    await sitting.go("/?band=likely&status=all")
    assert "0 of 2 texts decided" in sitting.page.text
    assert "Filters and order: All statuses, likely" in sitting.page.text
    await sitting.go("/?system=cpv&division=09")
    assert sitting.text == DIESEL
    await sitting.go("/?system=ted&band=certain&order=--&division=%27&status=%27%22")
    assert "Nothing is left" in sitting.page.text


async def test_accepting_all_shows_the_count_first_and_is_undone_at_once(sit: Open) -> None:
    sitting = sit()
    await sitting.start()
    await sitting.go("/accept")
    assert "Accept the best match of 2 texts (3 rows)?" in sitting.page.text
    await sitting.post("/accept", count=3)
    assert "The number of texts has changed. Nothing was accepted" in sitting.page.text
    assert not sitting.outcomes
    await sitting.post("/accept", count=2)
    assert "Saved: the best match of 2 texts." in sitting.page.text
    assert sitting.text == NOISE
    first, second = sitting.decisions
    assert first.batch == second.batch != ""
    await sitting.post("/undo")
    assert "0 of 3 texts decided" in sitting.page.text
    assert sitting.outcomes[2:] == ["undo", "undo"]


async def test_blind_neither_selects_nor_ranks_nor_marks(sit: Open) -> None:
    sitting = sit(blind=True)
    await sitting.start()
    assert sitting.codes == sorted(sitting.codes)
    assert not list(sitting.page.each("mark"))
    assert "in 10" not in " ".join(each.text for each in sitting.page.each("button"))
    focused = [each.tag for each in sitting.page.each("*") if "autofocus" in each.attributes]
    assert focused == ["h1"]
    assert "/accept" not in sitting.response.text
    assert "Its code needs a look." in sitting.page.text
    assert "doubtful" not in sitting.page.text and "How sure" not in sitting.page.text
    await sitting.choose(sitting.codes[0])
    assert sitting.decisions[0].blind


async def test_other_peoples_decisions_are_taken_over_and_conflicts_are_settled(
    sit: Open, tmp_path: Path
) -> None:
    write(tmp_path / "d.jsonl", [chose(SPRUCE, "03450000"), nothing_fits(NOISE)])
    ben = write(
        tmp_path / "ben.jsonl",
        [
            chose(SPRUCE, "39298910", by="Ben"),
            nothing_fits(NOISE, by="Ben"),
            chose(DIESEL, "09134200", by="Ben"),
        ],
    )
    sitting = sit(merge=[ben])
    await sitting.start()
    assert sitting.review.taken_over == 1
    assert sitting.text == SPRUCE
    shown = sitting.page.text
    assert "Reviewers disagree." in shown
    assert "Anna:03450000" in sitting.words and "Ben:39298910" in sitting.words
    await sitting.go("/?q=39298910")
    await sitting.choose("39298910")
    assert "Nothing is left to review." in sitting.page.text
    assert sitting.decisions[-1].settles
    sitting.finish()
    assert not sit(merge=[ben]).review.conflicts


async def test_a_table_that_changes_meanwhile_is_noticed(sit: Open, tmp_path: Path) -> None:
    output = enriched(tmp_path)
    sitting = sit(output)
    await sitting.start()
    assert "The table was changed" not in sitting.page.text
    os.utime(output, (1, 1))
    await sitting.choose("none")
    assert "The table was changed since this review began." in sitting.page.text
    assert sitting.outcomes == ["none"]


async def test_a_decision_that_cannot_be_saved_is_reported_and_not_counted(
    sit: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    sitting = sit()
    await sitting.start()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        response = await sitting.choose("none")
    assert response.status_code == 500
    assert "The decision was not saved" in sitting.page.text
    assert "No space left on device" in sitting.page.text
    await sitting.go("/")
    assert sitting.text == SPRUCE
    assert sitting.decisions == ()


HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(2)> snow ploughs",
    '=HYPERLINK("http://evil.example","diesel")',
    "\u202egnp.exe snow \u2066ploughs\u200f",
    "{{ 7 * 7 }} </mark></div></main> diesel",
    "diesel " * 15_000,
]


async def test_hostile_texts_are_shown_as_text(sit: Open, tmp_path: Path) -> None:
    sitting = sit(
        enriched(tmp_path, HOSTILE, systems="psc", min_confidence=1.0), reviewer="<b>Anna</b>"
    )
    await sitting.start()
    for text in HOSTILE[:4]:
        assert "".join(text.split()) in sitting.words
        assert {each.tag for each in sitting.page.by_id("text").each("*")} <= {"p", "mark"}
        assert "<script>alert" not in sitting.response.text
        assert "<b>Anna" not in sitting.response.text
        await sitting.choose("none")
    assert "Show the whole text, 104,999 characters" in sitting.page.text
    assert "4,999 more characters not shown." in sitting.page.text
    await sitting.choose("none")
    assert [each.text for each in sitting.decisions[:4]] == HOSTILE[:4]
    assert len(sitting.decisions[4].text) == len(HOSTILE[4]) - 1


async def test_with_several_systems_codes_are_counted_because_a_text_is_decided_for_each(
    sit: Open, tmp_path: Path
) -> None:
    sitting = sit(enriched(tmp_path, [DIESEL], systems="psc,naics", min_confidence=1.0))
    await sitting.start()
    assert "0 of 2 codes decided" in sitting.page.text
    await sitting.go("/accept")
    assert "Accept 2 codes?" in sitting.page.text
    await sitting.post("/accept", count=2)
    assert "Saved: 2 codes." in sitting.page.text
    assert "2 codes decided. Press Ctrl-C" in sitting.page.text


ALIKE = [
    "Tenderers must register on the portal before the closing date and send all documents. " * 4
    + bought
    + " Payment is due thirty days after the invoice." * 3
    for bought in ("Supply of winter road salt.", "Felling of spruces.", "Repair of lifts.")
]


async def test_texts_that_begin_alike_show_what_spoke_for_the_code(
    sit: Open, tmp_path: Path
) -> None:
    sitting = sit(enriched(tmp_path, ALIKE, min_confidence=1.0))
    await sitting.start()
    shown = sitting.page.by_id("text").text
    assert shown.startswith("… Supply of winter road salt. Payment is due")
    assert "Show the whole text, 5" in shown
    dimmed = " ".join(each.text for each in sitting.page.by_id("text").each("span"))
    assert "Payment is due" in dimmed and "salt" not in dimmed
    assert [each.text for each in sitting.page.each("dl")] == ["id 0"]
    await sitting.go("/accept")
    for bought in ("winter road salt", "Felling", "lifts"):
        assert bought in sitting.page.text
    assert "Tenderers must register" not in sitting.page.text


async def test_an_excerpt_gives_nothing_away_to_a_blind_reviewer(sit: Open, tmp_path: Path) -> None:
    """The sentence that has a word of the best match's title is not preferred."""
    text = "One of a kind. " * 40 + "Road salt. "
    sitting = sit(enriched(tmp_path, [text], min_confidence=1.0), blind=True)
    await sitting.start()
    assert sitting.page.by_id("text").text.startswith("One of a kind.")
    assert not [*sitting.page.each("mark")]


async def test_a_table_without_doubts_says_so_and_offers_nothing_to_undo(
    sit: Open, tmp_path: Path
) -> None:
    sitting = sit(enriched(tmp_path, [TEXTS[0]]))
    await sitting.start()
    assert "No row is marked for a look." in sitting.page.text
    assert "Undo" not in sitting.page.text and "--decisions" not in sitting.page.text
    await sitting.go("/?status=all")
    assert sitting.text == TEXTS[0], "it can be reviewed all the same"


async def test_the_link_works_only_in_the_browser_that_opened_it(sit: Open) -> None:
    first = sit()
    assert (await first.go("/")).status_code == 403
    assert (await first.go("/start?token=guess")).status_code == 403
    assert (await first.client.head(f"/start?token={first.access.token}")).status_code == 403
    assert (await first.start()).status_code == 200
    assert "Which CPV code fits?" in first.response.text
    assert (await first.start()).status_code == 200  # the same browser opens the link again
    first.client.cookies.clear()
    assert (await first.go("/")).status_code == 403
    assert (await first.start()).status_code == 403
    assert "was used already" in first.page.text


async def test_the_cookie_is_out_of_reach_of_scripts_and_named_by_the_port(sit: Open) -> None:
    sitting = sit()
    response = await sitting.client.get(
        f"/start?token={sitting.access.token}", follow_redirects=False
    )
    cookie = response.headers["Set-Cookie"]
    assert cookie.startswith("tender_review_8123=")
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie
    assert sitting.access.token not in cookie


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8123", "127.0.0.1.evil.example", ""]
)
async def test_another_host_is_refused_even_with_the_cookie(sit: Open, host: str) -> None:
    sitting = sit()
    await sitting.start()
    assert (await sitting.go("/", Host=host)).status_code == 400
    assert (await sitting.go("/", Host="localhost:8123")).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),  # another port of this machine
        ({"Content-Type": "application/json"}, 415),
    ],
)
@pytest.mark.parametrize("path", ["/decide", "/undo", "/accept"])
async def test_a_form_of_another_site_decides_nothing(
    sit: Open, path: str, headers: dict[str, str], status: int
) -> None:
    sitting = sit()
    await sitting.start()
    form = {"item": "1", "choice": "none", "count": "2"}
    response = await sitting.post(path, headers=headers, **form)
    assert response.status_code == status
    assert sitting.decisions == ()
    sitting.client.cookies.clear()
    assert (await sitting.post(path, **form)).status_code == 403


async def test_every_response_has_the_security_headers(sit: Open) -> None:
    sitting = sit()
    await sitting.start()
    for path in ("/", "/accept", "/nothing", "/static/nothing.css"):
        policy = (await sitting.go(path)).headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    style = next(each for each in sitting.page.each("link") if "review" in each.attributes["href"])
    assert (await sitting.go(style.attributes["href"])).status_code == 200


@pytest.mark.parametrize(
    "form",
    [
        {"item": "99", "choice": "none"},
        {"item": "x", "choice": "none"},
        {"item": "9" * 30, "choice": "none"},
        {"item": "1", "choice": "00000000"},
        {"item": "1", "choice": ""},
        {"item": "1", "choice": "undo"},
        {"choice": "none"},
    ],
)
async def test_what_cannot_be_chosen_is_refused(sit: Open, form: dict[str, str]) -> None:
    sitting = sit()
    await sitting.start()
    assert (await sitting.post("/decide", **form)).status_code == 422
    assert sitting.decisions == ()
