from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pipeline
from pipeline.engine.model import save
from tests.engine.model.training_data import taught
from tests.evaluation.labels import ROWS, csv_file, table

SERVICE = pipeline.PaidService("https://a.example")


def frame() -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=["description", "code", "lang"])


def test_a_frame_a_table_and_a_file_give_the_same_figures(tmp_path: Path) -> None:
    path = csv_file(tmp_path / "t.csv")
    given = [frame(), frame().set_index("lang", drop=False), table(), path, str(path)]
    found = [pipeline.evaluate(data, system="cpv", source_column="lang") for data in given]
    assert all(each.subjects == found[0].subjects for each in found)
    assert found[0].rows == 6
    assert found[3].table == str(path)


def test_the_sheet_of_a_workbook_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "labelled.xlsx"
    with pd.ExcelWriter(path, engine="xlsxwriter") as book:
        frame().iloc[:2].to_excel(book, sheet_name="old", index=False)
        frame().to_excel(book, sheet_name="new", index=False)
    assert pipeline.evaluate(path, system="cpv").rows == 2
    assert pipeline.evaluate(path, system="cpv", excel=pipeline.ExcelOptions("new")).rows == 6


def test_a_frame_that_was_classified_before_can_be_evaluated_by_any_column_of_codes() -> None:
    classified = pipeline.classify(frame(), systems="cpv").to_pandas()
    assert pipeline.evaluate(classified, system="cpv").rows == 6
    with pytest.warns(UserWarning, match="'cpv_code' has what a run answered, right or wrong"):
        assert pipeline.evaluate(classified, system="cpv", code_column="cpv_code").rows > 6


def test_its_text_is_what_the_command_prints() -> None:
    found = pipeline.evaluate(frame(), system="cpv", sample=3)
    assert repr(found) == str(found)
    assert str(found).startswith("cpv, 3 rows of a table in memory, drawn from 6 with seed 0\n")


def test_a_model_is_evaluated_against_the_titles(tmp_path: Path) -> None:
    save([taught().model], tmp_path / "model", {})
    found = pipeline.evaluate(
        frame(), system="cpv", subject=tmp_path / "model", compare="engine", progress=True
    )
    assert [each.kind for each in found.subjects] == ["model", "engine"]
    assert found.comparison is not None
    assert found.comparison.paid is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"subject": "https://service.example"}, "Unknown subject: 'https://service.example'."),
        ({"subject": 7}, "Unknown subject: 7."),
        ({"subject": None}, "Unknown subject: None."),
        ({"subject": "nobody"}, 'or a service: pipeline.PaidService("https://service.example").'),
        ({"compare": "engine"}, "The two subjects are the same"),
        (
            {"subject": SERVICE, "compare": pipeline.PaidService("https://b.example")},
            "Evaluate each by itself",
        ),
        ({"progress": "yes"}, "progress"),
        ({"system": "icd"}, "Choose from cpv"),
        ({"csv": pipeline.CsvOptions()}, "csv and excel describe a file"),
        ({"excel": pipeline.ExcelOptions(sheet="a")}, "csv and excel describe a file"),
    ],
)
def test_wrong_arguments_are_refused_with_a_hint(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(pipeline.PipelineError) as refused:
        pipeline.evaluate(frame(), **{"system": "cpv", **arguments})  # type: ignore[arg-type]
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (
            {"data": None, "system": None},
            "The table and the system are missing.",
            'Give a table with the right codes, or decisions="FILE"; and system: cpv, psc, unspsc, '
            "naics.",
        ),
        ({"data": None}, "The table is missing.", "Give a table with the right codes, or dec"),
        ({"system": None}, "The system is missing.", "Give system: cpv, psc, unspsc, naics."),
    ],
)
def test_all_that_is_missing_is_named_at_once(
    arguments: dict[str, Any], said: str, hint: str
) -> None:
    with pytest.raises(pipeline.SettingsError) as refused:
        pipeline.evaluate(**{"data": frame(), "system": "cpv", **arguments})
    assert refused.value.message == said
    assert refused.value.hint.startswith(hint)


def test_all_missing_columns_are_reported_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    frame().to_csv(path, index=False)
    for data in (frame(), path, table()):
        with pytest.raises(pipeline.InputError, match="no column 'a' and no column 'b'") as refused:
            pipeline.evaluate(data, system="cpv", text_columns="a", code_column="b")
        assert "text_columns=" in refused.value.hint
        assert "code_column=" in refused.value.hint
    with pytest.raises(pipeline.InputError, match="no column 'b' and no column 'c'"):
        pipeline.evaluate(path, system="cpv", code_column="b", source_column="c")


def test_a_column_of_sources_may_have_any_name() -> None:
    (one,) = pipeline.evaluate(frame(), system="cpv").subjects
    assert one.figures.sources == ()
    (one,) = pipeline.evaluate(frame(), system="cpv", source_column="lang").subjects
    assert [each.name for each in one.figures.sources] == ["en", "de", ""]
