from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from pipeline.errors import InputChangedError, InputError, SettingsError
from pipeline.evaluation.dataset import Labelled, labelled
from pipeline.evaluation.settings import EvaluationSettings
from pipeline.tables.arrow import ArrowReader
from pipeline.tables.formats import open_reader
from pipeline.tables.table import check_unchanged
from tests.evaluation.labels import ROWS, csv_file, read, table


def texts(rows: Labelled) -> list[str]:
    return [text for batch in rows.batches() for text in batch.texts]


def codes(rows: Labelled) -> list[str]:
    return [code for batch in rows.batches() for code in batch.codes]


def many(rows: int) -> pa.Table:
    return table([(f"text {number}", "45000000", "en") for number in range(rows)])


def test_rows_without_text_or_code_are_left_out_and_counted() -> None:
    rows = read(table())
    left_out = rows.left_out
    assert (left_out.rows, left_out.without_text, left_out.without_code) == (9, 1, 1)
    assert left_out.no_codes == Counter({"road": 1})
    assert rows.rows == left_out.usable == 6
    assert codes(rows)[4:] == ["90919200", "45999999"], "a code that the table lacks stays"
    assert left_out.unknown == Counter({"45999999": 1})


def test_sources_come_along_when_a_column_names_them() -> None:
    rows = read(table(), source_column="lang")
    found = [one for batch in rows.batches() for one in batch.sources]
    assert found == ["de", "de", "en", "en", "en", ""]


def test_the_same_seed_draws_the_same_rows_and_another_one_others() -> None:
    rows = many(3000)
    one, again = (texts(read(rows, sample=50, seed=7)) for _ in range(2))
    assert one == again
    assert len(set(one)) == 50
    assert one == sorted(one, key=lambda text: int(text.split()[1]))
    assert texts(read(rows, sample=50, seed=8)) != one


def test_these_rows_are_drawn_whatever_the_version_of_a_library() -> None:
    drawn = [int(text.split()[1]) for text in texts(read(many(1000), sample=4, seed=0))]
    assert drawn == [102, 471, 961, 980]


def test_a_larger_sample_has_the_rows_of_a_smaller_one() -> None:
    rows = many(2500)
    assert set(texts(read(rows, sample=20))) < set(texts(read(rows, sample=60)))


def test_every_part_of_a_table_is_drawn_from() -> None:
    drawn = [int(text.split()[1]) for text in texts(read(many(3000), sample=600))]
    thirds = Counter(place // 1000 for place in drawn)
    assert all(150 < thirds[third] < 250 for third in range(3))


def test_a_sample_as_large_as_the_table_is_the_table() -> None:
    assert texts(read(table(), sample=6)) == texts(read(table()))


def test_numbers_get_back_the_zero_that_a_cpv_code_began_with() -> None:
    numbers = pa.table({"description": ["wheat", "roads"], "code": [3111000, 45233140]})
    assert codes(read(numbers)) == ["03111000", "45233140"]
    not_a_number = pa.array([3111000.0, float("nan")])
    assert codes(read(numbers.set_column(1, "code", not_a_number))) == ["03111000"]
    frame = pd.DataFrame({"description": ["wheat", "none"], "code": [3111000.0, None]})
    assert codes(read(pa.Table.from_pandas(frame))) == ["03111000"]


def test_a_short_code_in_words_is_filled_up_at_its_end() -> None:
    assert codes(read(table([("text", "4523314", "en")]))) == ["45233140"]


@pytest.mark.parametrize(
    ("rows", "settings", "said"),
    [
        (table(), {"code_column": "Code"}, "Did you mean 'code'?"),
        (table(), {"source_column": "language"}, "--source-column 'lang'"),
        (table().slice(0, 0), {}, "has no rows."),
        (table([("", "45000000", "en")]), {}, "has a text and a cpv code"),
        (pa.table({"description": ["x"], "code": [[1]]}), {}, "not text or whole numbers"),
        (pa.table({"description": ["x"], "code": [0.5]}), {}, "not text or whole numbers"),
    ],
)
def test_a_table_that_cannot_be_evaluated_is_refused_with_a_hint(
    rows: pa.Table, settings: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError) as refused:
        read(rows, **settings)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sample": 0}, "--sample"),
        ({"sample": 2.5}, "--sample"),
        ({"seed": -1}, "--seed"),
        ({"system": "icd"}, "Choose from cpv"),
        ({"jobs": 0}, "--jobs"),
        ({"code_column": ""}, "--code-column must name a column."),
    ],
)
def test_settings_that_cannot_be_are_refused_with_a_hint(
    settings: dict[str, object], said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        EvaluationSettings(**{"system": "cpv", **settings})  # type: ignore[arg-type]


def test_a_table_that_changed_meanwhile_is_an_error(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "t.csv")
    settings = EvaluationSettings("cpv")
    rows = labelled(open_reader(path, ["description"]), settings, "t.csv")
    check_unchanged(rows.reader, "It changed.")
    csv_file(path, [*ROWS, ("more", "45000000", "en")])
    with pytest.raises(InputChangedError, match="Run the same command again"):
        check_unchanged(rows.reader, "It changed.")
    check_unchanged(ArrowReader(table(), ["description"]), "A table in memory does not.")
