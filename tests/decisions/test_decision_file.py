"""Decisions are on the disk when they are made, whatever happens to their file; and verdicts."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pipeline.answers import Decided, Match
from pipeline.classification.corrections import decisions_in
from pipeline.decisions.decision_file import Decision, DecisionLog, read_decisions, text_key
from pipeline.decisions.decisions import (
    CODE_COLUMN,
    TEXT_COLUMN,
    DecidedLabels,
    Decisions,
    decided,
    label_table,
)
from pipeline.errors import InputError, OutputError, SettingsError
from pipeline.paid.ledger.schema import text_digest
from tests.decisions.samples import chose, nothing_fits, write
from tests.fakes import COST, ScriptedMatcher

FIRST = chose("road", "45233140", model="engine 0.1.0", best="45233140", confidence=0.25)
SECOND = nothing_fits("<b>chairs</b>\u202e", blind=True, batch="a", settles=True)


def test_what_was_appended_is_read_back(tmp_path: Path) -> None:
    with DecisionLog(tmp_path / "a.jsonl") as log:
        log.append([FIRST])
        log.append([SECOND])
        assert read_decisions(log.path).decisions == (FIRST, SECOND)
    with DecisionLog(tmp_path / "a.jsonl") as log:
        assert log.before.decisions == (FIRST, SECOND)
        log.append([chose("more", "45000000")])
    found = read_decisions(tmp_path / "a.jsonl")
    assert (len(found.decisions), found.torn, found.warning) == (3, False, None)


def test_wherever_a_kill_cuts_a_line_off_only_that_decision_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    whole = SECOND.to_line()
    for left in range(1, len(whole)):
        path.write_bytes(FIRST.to_line() + whole[:left])
        found = read_decisions(path)
        assert found.decisions == (FIRST,)
        assert found.torn
    assert "is incomplete and is ignored" in (found.warning or "")


def test_an_incomplete_line_is_removed_before_the_next_decision(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(FIRST.to_line() + SECOND.to_line()[:40])
    with DecisionLog(path) as log:
        assert log.before.torn
        log.append([SECOND])
    assert path.read_bytes() == FIRST.to_line() + SECOND.to_line()


def test_each_append_is_synced_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    with DecisionLog(tmp_path / "a.jsonl") as log:
        monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_size))
        log.append([FIRST])
    assert synced == [len(FIRST.to_line())]


def test_a_full_disk_leaves_no_half_of_a_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with DecisionLog(tmp_path / "a.jsonl") as log:
        log.append([FIRST])
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OutputError, match="No space left"):
                log.append([SECOND, SECOND])
        assert log.path.read_bytes() == FIRST.to_line()
        log.append([SECOND])
    assert read_decisions(tmp_path / "a.jsonl").decisions == (FIRST, SECOND)


def test_two_reviews_do_not_write_the_same_file(tmp_path: Path) -> None:
    with (
        DecisionLog(tmp_path / "a.jsonl"),
        pytest.raises(OutputError, match=r"Another review .* --decisions FILE"),
    ):
        DecisionLog(tmp_path / "a.jsonl")
    DecisionLog(tmp_path / "a.jsonl").__exit__(None, None, None)


def test_a_file_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written: Is a directory"):
        DecisionLog(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises((OutputError, InputError), match="pipe"):
        DecisionLog(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"system": "ted"}, "Invalid enum value 'ted' in `system`"),
        ({"choice": "maybe"}, "Invalid enum value 'maybe' in `choice`"),
        ({"code": "road"}, "its code 'road' is not a cpv code"),
        ({"code": 45}, "Expected `str`, got `int` in `code`"),
        ({"text": " "}, "Expected `str` matching regex '\\\\S' in `text`"),
        ({"by": None}, "Expected `str`, got `null` in `by`"),
        ({"at": "today"}, "its time is 'today'"),
        ({"at": "0001-01-01T00:00:00+14:00"}, "out of range"),
        ({"confidence": 10**400}, "out of range in `confidence`"),
        ({"version": 2}, "its version is 2, and this tool reads 1"),
        ({"text": "\ud800"}, "surrogate"),
    ],
)
def test_a_line_that_is_not_a_decision_is_named(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    line = json.dumps(json.loads(FIRST.to_line()) | change)
    (tmp_path / "a.jsonl").write_bytes(SECOND.to_line() + line.encode() + b"\n")
    with pytest.raises(InputError, match="line 2, is not a decision") as caught:
        read_decisions(tmp_path / "a.jsonl")
    assert said in caught.value.message


@pytest.mark.parametrize("rest", [b"\nhalf", b""])
@pytest.mark.parametrize(
    "line", [b"id,text", b"[]", b'[{"id": 1}]', b'{"id": 1}', b"PK\x03\xfe", b"[" * 100_000]
)
def test_a_file_of_another_kind_is_refused_and_stays_as_it_is(
    tmp_path: Path, line: bytes, rest: bytes
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line + rest)
    with pytest.raises(InputError, match="line 1, is not a decision: "):
        DecisionLog(tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == line + rest


def test_codes_and_times_are_read_in_the_form_of_the_tables(tmp_path: Path) -> None:
    line = {
        **json.loads(FIRST.to_line()),
        "code": "45233140-2",
        "at": "2026-03-01T12:00:00+02:00",
        "confidence": 1,
        "new": 1,
    }
    (tmp_path / "a.jsonl").write_text(json.dumps(line) + "\n")
    (found,) = read_decisions(tmp_path / "a.jsonl").decisions
    assert (found.code, found.at, found.confidence) == ("45233140", FIRST.at, 1.0)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_decisions(tmp_path / "none.jsonl")
    write(tmp_path / "empty.jsonl", [])
    assert read_decisions(tmp_path / "empty.jsonl").decisions == ()


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("45233100", "accepted"),
        ("45233140", "accepted"),
        ("45233000", "general"),
        ("45000000", "general"),
        ("45234000", "wrong"),
    ],
)
def test_a_chosen_code_accepts_what_is_below_it(code: str, verdict: str) -> None:
    assert chose("road", "45233100").verdict(code) == verdict


def test_every_code_is_wrong_for_a_text_that_none_fits() -> None:
    assert nothing_fits("road").verdict("45000000") == "wrong"


def test_a_list_of_what_was_judged_says_all() -> None:
    decision = chose(
        *("road", "45233140"),
        accepted=("45233141",),
        general=("45000000",),
        candidates=("45233140", "39000000"),
    )
    codes = ["45233140", "45233141", "45000000", "39000000", "45233100", "45233142"]
    said = [decision.verdict(code) for code in codes]
    assert said == ["accepted", "accepted", "general", "wrong", "unjudged", "unjudged"]
    assert Decision.of_line(decision.to_line()) == [decision]


def test_a_review_writes_no_empty_lists() -> None:
    assert (
        not {"accepted", "general", "candidates"}
        & json.loads(chose("a", "45000000").to_line()).keys()
    )


JUDGED: dict[str, Any] = {
    "text": "Road  works\n",
    "systems": {
        "cpv": {
            "best": "45233140",
            "accepted": ["45233140"],
            "other": ["45233141"],
            "general": ["45000000"],
            "candidates": ["45233140", "45000000", "39000000"],
        },
        "psc": {"best": None, "accepted": [], "general": [], "candidates": ["7110"]},
        "naics": {"unknowable": True},
    },
}


def written(path: Path, line: object) -> Path:
    path.write_text(json.dumps(line) + "\n", "utf-8")
    return path


def test_a_line_with_verdicts_is_a_decision_in_each_system(tmp_path: Path) -> None:
    found = decisions_in(written(tmp_path / "judged.jsonl", JUDGED), print)
    cpv, psc = found.of("cpv", "Road works"), found.of("psc", "Road works")
    assert cpv is not None
    assert psc is not None
    codes = ["45233140", "45233141", "45000000", "39000000", "03000000"]
    said = [cpv.verdict(code) for code in codes]
    assert said == ["accepted", "accepted", "general", "wrong", "unjudged"]
    assert (psc.choice, psc.verdict("7110"), psc.verdict("7125")) == ("none", "wrong", "unjudged")
    assert found.of("naics", "Road works") is None
    assert len(found.skipped) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"systems": []}, "Expected `object`, got `array` in `systems`"),
        ({"systems": {"cpv": "45"}}, "Expected `object`, got `str` in `systems"),
        ({"systems": {"isic": {}}}, "Invalid enum value 'isic' in `key` in `systems`"),
        ({"systems": {"cpv": {"general": "45"}}}, "Expected `array`, got `str` in `systems"),
        ({"systems": {"cpv": {"other": None}}}, "Expected `array`, got `null` in `systems"),
        ({"systems": {"cpv": {"accepted": ["road"]}}}, "its code 'road' is not a cpv code"),
        ({"text": 1}, "Expected `str`, got `int` in `text`"),
    ],
)
def test_a_malformed_line_with_verdicts_says_what_is_wrong(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "judged.jsonl", JUDGED | change)
    with pytest.raises(InputError, match=f"line 1, is not a decision: {said}"):
        decisions_in(path, print)


LATER = "2026-03-02T10:00:00.000+00:00"


def merge(folder: Path, *files: list[Decision]) -> tuple[Decisions, list[str]]:
    """Merge files with these decisions; return the warnings, too."""
    said: list[str] = []
    paths = [write(folder / f"{place}.jsonl", each) for place, each in enumerate(files)]
    return decisions_in(paths, said.append), said


def outcome(decisions: Decisions, text: str) -> str | None:
    found = decisions.of("cpv", text)
    return None if found is None else found.outcome


def test_the_last_decision_in_a_file_counts_and_can_be_taken_back(tmp_path: Path) -> None:
    history = [
        chose("a", "45000000"),
        chose("a", "45200000"),
        chose("b", "45000000"),
        chose("b", "", choice="undo"),
        chose("c", "", choice="skip"),
        chose("d", "", choice="skip"),
        nothing_fits("d"),
    ]
    found, said = merge(tmp_path, history)
    assert [outcome(found, each) for each in "abcd"] == ["45200000", None, None, "none fits"]
    assert found.skipped == {("cpv", text_key("c"))}
    assert [each.text for each in found.about("cpv")] == ["a", "d"]
    assert not list(found.about("psc"))
    assert said == []


def test_files_that_agree_make_one_decision(tmp_path: Path) -> None:
    found, said = merge(tmp_path, [chose("a", "45000000")], [chose("a", "45000000", by="Ben")])
    assert outcome(found, "a") == "45000000"
    assert (list(found.conflicts), said) == ([], [])
    assert [len(sha256) for sha256 in found.files.values()] == [64, 64]


def test_the_name_of_somebody_else_commands_no_terminal(tmp_path: Path) -> None:
    found, _ = merge(tmp_path, [chose("a", "45000000", by="\x1b[2JAnna")], [nothing_fits("a")])
    (conflict,) = found.conflicts
    assert str(conflict) == "cpv 'a': [2JAnna: 45000000; Anna: none fits"


def test_files_that_disagree_decide_nothing_and_are_listed(tmp_path: Path) -> None:
    anna = [chose("a", "45000000"), chose("b", "45000000")]
    ben = [nothing_fits("a", by="Ben"), chose("b", "45000000", by="Ben")]
    place = tmp_path / "my own"
    place.mkdir()
    found, (said,) = merge(place, anna, ben)
    assert [outcome(found, each) for each in "ab"] == [None, "45000000"]
    assert "1 text has different decisions, and none of them is used:" in said
    assert "cpv 'a': Anna: 45000000; Ben: none fits" in said
    assert f"review OUTPUT --merge '{place}/0.jsonl' --merge '{place}/1.jsonl'" in said


def test_a_settled_conflict_replaces_earlier_decisions_only(tmp_path: Path) -> None:
    settled = chose("a", "45200000", at=LATER, settles=True)
    before = chose("a", "45000000")
    found, _ = merge(tmp_path, [before], [nothing_fits("a", by="Ben")], [settled])
    assert outcome(found, "a") == "45200000"
    after = nothing_fits("a", by="Ben", at="2026-03-03T10:00:00.000+00:00")
    found, _ = merge(tmp_path, [before], [after], [settled])
    assert len(found.conflicts) == 1


def test_many_conflicts_are_counted(tmp_path: Path) -> None:
    texts = [f"text {place}" for place in range(9)]
    ben = [nothing_fits(each, by="Ben") for each in texts]
    _, (said,) = merge(tmp_path, [chose(each, "45000000") for each in texts], ben)
    assert "9 texts have different decisions" in said
    assert "and 4 more" in said


def test_a_wrong_argument_is_a_clear_error() -> None:
    with pytest.raises(SettingsError, match="decisions is 3"):
        decisions_in(3, print)


def test_a_text_has_the_digest_that_the_ledger_knows_it_by() -> None:
    assert text_key("Straße") == text_digest("Straße")


def test_a_decision_takes_the_place_of_the_best_match_and_keeps_the_cost(tmp_path: Path) -> None:
    decisions = [
        chose("road", "45233000", by="Anna"),
        nothing_fits("chairs"),
        chose("refused", "45233140", title="unused"),
        chose("gibberish", "99999999", title="A code that no table has"),
        chose("gibberish", "7110", system="psc"),
    ]
    found, _ = merge(tmp_path, decisions)
    texts = ["road", "", "chairs", "refused", "gibberish"]
    (answers,) = ScriptedMatcher(("cpv",)).answers([texts])
    road, empty, chairs, refused, unknown = decided(found, texts, answers)["cpv"]
    assert road == Decided(
        (
            Match("45233000", "Construction, foundation and surface works for highways, roads", 1),
            Match("45233140", "Roadworks", 0.9),
        ),
        COST,
        "decided by Anna",
    )
    assert empty is None
    assert isinstance(chairs, Decided) and chairs.matches == ()
    assert isinstance(refused, Decided) and refused.matches[0].title == "Roadworks"
    assert isinstance(unknown, Decided)
    assert unknown.matches[0] == Match("99999999", "A code that no table has", 1.0)


def test_a_history_is_corrected_and_gets_each_decided_text_that_it_lacks(tmp_path: Path) -> None:
    decided = [
        chose("road", "45233140"),
        nothing_fits("chairs"),
        chose("new", "45000000"),
        nothing_fits("also new"),
        chose("psc", "7110", system="psc"),
    ]
    found = decisions_in(write(tmp_path / "d.jsonl", decided), print)
    labels = DecidedLabels(found, "cpv")
    texts, codes = ["road", "chairs", "road", "", "psc"], ["1", "2", "3", "4", "5"]
    assert labels.corrected(texts, codes) == ["45233140", "", "45233140", "4", "5"]
    assert labels.rest() == (["new"], ["45000000"])


def test_labels_to_measure_with_are_decided_one_by_one_and_empty_if_no_code_fits(
    tmp_path: Path,
) -> None:
    together = [chose("a", "45000000", batch="1")]
    one_by_one = [chose("road", "45233140"), nothing_fits("b")]
    path = write(tmp_path / "d.jsonl", [*together, *one_by_one])
    table = label_table(decisions_in(path, print), "cpv")
    assert table.to_pylist() == [
        {TEXT_COLUMN: "road", CODE_COLUMN: "45233140"},
        {TEXT_COLUMN: "b", CODE_COLUMN: ""},
    ]
    path = write(tmp_path / "d.jsonl", together)
    with pytest.raises(InputError, match="were made together with others"):
        label_table(decisions_in(path, print), "cpv")
