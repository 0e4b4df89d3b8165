from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.answers import Decided, Match
from pipeline.classification.corrections import decisions_in
from pipeline.decisions.applied import CODE_COLUMN, TEXT_COLUMN, DecidedLabels, decided, label_table
from pipeline.decisions.decision import Decision, text_key
from pipeline.decisions.merged import Decisions
from pipeline.errors import InputError, SettingsError
from pipeline.paid.ledger.calls import text_digest
from tests.decisions.samples import chose, nothing_fits, write
from tests.fakes import COST, ScriptedMatcher

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
