from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipeline.codes import CodeTable
from pipeline.engine import lexical as index
from pipeline.engine.lexical import (
    FEATURES,
    Index,
    build_index,
    kept_index,
    term_counts,
    weighted,
)
from pipeline.errors import SettingsError

TITLES = {"10000000": "Live animals", "11000000": "Minerals", "12000000": "Animal feed"}


@pytest.fixture
def table() -> CodeTable:
    return CodeTable("unspsc", "today", "a test", "none", TITLES)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Index]:
    """The indexes that were built and not loaded."""
    seen: list[Index] = []

    def spy(titles: list[list[str]]) -> Index:
        seen.append(build_index(titles))
        return seen[-1]

    monkeypatch.setattr(index, "build_index", spy)
    return seen


def same(one: Index, other: Index) -> bool:
    return (one.titles != other.titles).nnz == 0 and np.array_equal(one.rarity, other.rarity)


def test_an_index_has_a_row_a_feature_and_a_column_a_code_of_unit_length() -> None:
    built = build_index([list(TITLES.values())])
    assert built.titles.shape == (FEATURES, 3)
    assert built.titles.dtype == np.float32
    assert np.sqrt(built.titles.multiply(built.titles).sum(axis=0)) == pytest.approx(1.0, rel=1e-5)


def test_a_feature_that_fewer_codes_have_weighs_more() -> None:
    built = build_index([["road works", "road signs", "road"]])
    rarity = [built.rarity[term_counts([word]).indices].min() for word in ("signs", "road", "boat")]
    assert rarity[2] > rarity[0] > rarity[1]


def test_a_code_is_as_near_to_its_title_in_one_language_as_in_another() -> None:
    built = build_index([["chairs", "roads"], ["Stühle", "Straßen"]])
    for text, place in {"chairs": 0, "Stühle": 0, "roads": 1, "Straßen": 1}.items():
        scores = (weighted(term_counts([text]), built.rarity) @ built.titles).toarray()[0]
        assert scores.argmax() == place
        assert scores[place] == pytest.approx(1.0, rel=1e-5)


def test_weighing_leaves_a_text_without_words_at_nothing() -> None:
    built = build_index([["chairs"]])
    rows = weighted(term_counts(["", "chairs"]), built.rarity)
    assert rows[0].nnz == 0
    assert np.isfinite(rows.data).all()


@pytest.mark.usefixtures("cache")
def test_the_second_call_loads_what_the_first_built(table: CodeTable, built: list[Index]) -> None:
    first, second = kept_index(table), kept_index(table)
    assert len(built) == 1
    assert same(first, second)


def test_a_kept_index_is_mapped_and_not_copied_so_that_processes_share_it(
    table: CodeTable, cache: Path
) -> None:
    kept_index(table)
    titles = kept_index(table).titles
    for array in (titles.data, titles.indices):
        assert any(isinstance(part, np.memmap) for part in (array, array.base, array.base.base))
    assert len(list((cache / "tender-pipeline" / "indexes").iterdir())) == 1


@pytest.mark.usefixtures("cache")
def test_other_titles_have_an_index_of_their_own(table: CodeTable, built: list[Index]) -> None:
    kept_index(table)
    other = {**TITLES, "11000000": "Stones"}
    kept_index(CodeTable("unspsc", "today", "a test", "none", other))
    assert len(built) == 2


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-8])


def overwritten(file: Path) -> None:
    file.write_bytes(b"no array at all")


@pytest.mark.parametrize("damage", [emptied, truncated, overwritten, Path.unlink])
@pytest.mark.parametrize("name", ["weights", "places", "ends", "rarity", "codes"])
def test_a_damaged_index_is_built_and_kept_again(
    table: CodeTable, cache: Path, built: list[Index], damage: Callable[[Path], None], name: str
) -> None:
    sound = kept_index(table)
    (file,) = cache.rglob(f"{name}.npy")
    damage(file)
    assert same(kept_index(table), sound)
    assert same(kept_index(table), sound)
    assert len(built) == 2


def test_a_cache_that_cannot_be_written_is_done_without(
    table: CodeTable, cache: Path, built: list[Index]
) -> None:
    cache.write_text("in the way")
    assert same(kept_index(table), kept_index(table))
    assert len(built) == 2


def test_a_disk_that_fills_up_leaves_no_draft_behind(
    table: CodeTable, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "save", full)
    assert kept_index(table).titles.shape == (FEATURES, 3)
    assert list((cache / "tender-pipeline" / "indexes").iterdir()) == []


def test_an_index_whose_values_were_damaged_is_built_again(
    table: CodeTable, cache: Path, built: list[Index]
) -> None:
    first = kept_index(table)
    (places,) = cache.glob("tender-pipeline/indexes/*/places.npy")
    np.save(places, np.full_like(np.load(places), 2**30))
    assert same(kept_index(table), first)
    assert len(built) == 2


def test_a_user_without_a_home_folder_is_served_without_a_cache(
    table: CodeTable, built: list[Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise SettingsError("This user has no home folder.", "Set HOME.")

    monkeypatch.setattr(index, "cache_folder", homeless)
    assert same(kept_index(table), kept_index(table))
    assert len(built) == 2
