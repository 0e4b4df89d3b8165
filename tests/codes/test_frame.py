from __future__ import annotations

import pandas as pd
import pytest

import pipeline
from pipeline.answers import SYSTEMS, System
from pipeline.codes import load


def test_codes_are_grouped_by_division_with_titles() -> None:
    codes = pipeline.code_table("cpv", language="de")
    frame = pd.DataFrame({"cpv_code": ["45233140", "45000000", None, "90620000"], "value": 1})
    divisions = frame["cpv_code"].map(codes["division"])
    rows = frame.groupby(divisions)["value"].sum()
    assert rows.rename(index=codes["title"].to_dict()).to_dict() == {
        "Bauarbeiten": 2,
        "Abwasser- und Abfallbeseitigungs-, Reinigungs- und Umweltschutzdienste": 1,
    }


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_code_has_its_title_its_level_and_the_codes_above_it(system: System) -> None:
    frame, table = pipeline.code_table(system.upper()), load(system)
    assert frame["title"].to_dict() == dict(table.titles)
    assert list(frame["level"].cat.categories) == list(frame.columns[2:]) == list(table.counts)
    for code in (frame.index[0], frame.index[-1], frame.index[1_000]):
        above = frame.loc[code].drop(["title", "level"]).dropna()
        assert above.to_list() == [*reversed(table.ancestors(code)), code]
        assert above.index[-1] == frame["level"][code]


def test_a_system_or_a_language_that_is_not_there_is_refused() -> None:
    with pytest.raises(pipeline.SettingsError, match=r"There is no system 'cvp'\. Choose from"):
        pipeline.code_table("cvp")
    with pytest.raises(pipeline.SettingsError, match="no titles in the language 'xx'"):
        pipeline.code_table("cpv", language="xx")
