"""The page when nothing is left to decide."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.review.conftest import TEXTS, Open, enriched

pytestmark = pytest.mark.anyio


async def test_a_table_without_doubts_says_so_and_offers_nothing_to_undo(
    sit: Open, tmp_path: Path
) -> None:
    sitting = sit(enriched(tmp_path, [TEXTS[0]]))
    await sitting.start()
    assert "No row is marked for a look." in sitting.page.text
    assert "Undo" not in sitting.page.text and "--decisions" not in sitting.page.text
    await sitting.go("/?status=all")
    assert sitting.text == TEXTS[0], "it can be reviewed all the same"
