"""Decisions as labels: which rows of a history they correct, and which texts they add."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.classification.corrections import decisions_in
from pipeline.decisions.applied import CODE_COLUMN, TEXT_COLUMN, DecidedLabels, label_table
from pipeline.errors import InputError
from tests.decisions.samples import chose, nothing_fits, write


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
