"""OCDS: a text column that no release has is an error or a warning, as in JSON Lines."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import InputError
from pipeline.tables import open_reader
from tests.tables.ocds_releases import package, release

TENDER = {"id": "t", "title": "Desks", "lots": [{"title": "Oak desks"}]}


def texts(place: Path, columns: list[str], *tenders: Any) -> list[str]:
    path = place / "t.json"
    path.write_text(json.dumps(package(*map(release, tenders))))
    reader = open_reader(path, columns)
    passes = [[text for batch in reader.batches() for text in batch.texts] for _ in range(2)]
    assert passes[0] == passes[1]
    return passes[0]


def test_a_misspelt_one_is_refused_and_the_right_one_suggested(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"t.json has no column 'tender.tilte'") as caught:
        texts(tmp_path, ["tender.tilte"], None, TENDER)
    assert caught.value.hint == "Did you mean 'tender.title'? Use --text-column 'tender.title'."


def test_beside_another_one_it_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert texts(tmp_path, ["tender.title", "tender.procedure"], TENDER) == ["Desks"]
    assert [each.split(": ")[1] for each in caplog.messages] == [
        "no row has the text column 'tender.procedure'."
    ]


def test_without_a_tender_there_is_nothing_to_miss(tmp_path: Path) -> None:
    assert texts(tmp_path, ["tender.title"], None, None) == ["", ""]


def test_one_release_that_has_it_is_enough(tmp_path: Path) -> None:
    assert texts(tmp_path, ["tender.lots.title"], {"id": "t"}, TENDER) == ["", "Oak desks"]
