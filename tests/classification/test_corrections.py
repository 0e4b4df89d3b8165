"""The output of a run comes back as decisions, whatever a spreadsheet did to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pipeline
from pipeline.classification.corrections import decision_file, decisions_in
from pipeline.classification.manifest import CellMarks
from pipeline.decisions.decisions import Decisions
from pipeline.errors import InputError
from tests.decisions.samples import chose, write

TEXTS = ["Road marking", "Office chairs", "Cut flowers", "Road marking", "", "Zxqwv", "Hens"]
FORMATS = ["csv", "xlsx", "parquet", "jsonl"]
Edit = Callable[[pd.DataFrame], pd.DataFrame | None]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the output of a run in each format."""
    folder = tmp_path_factory.mktemp("outputs")
    source = folder / "in.csv"
    pd.DataFrame({"id": range(len(TEXTS)), "what": TEXTS}).to_csv(source, index=False)
    for suffix in FORMATS:
        pipeline.classify(
            source, output=folder / f"out.{suffix}", systems=["cpv", "psc"], text_columns="what"
        )
    return folder


def frame_of(path: Path) -> pd.DataFrame:
    read: dict[str, Any] = {
        ".csv": lambda: pd.read_csv(path, dtype=str, keep_default_na=False),
        ".xlsx": lambda: pd.read_excel(path, engine="calamine", dtype=str, keep_default_na=False),
        ".parquet": lambda: pd.read_parquet(path),
        ".jsonl": lambda: pd.read_json(path, lines=True, dtype=False),
    }
    frame: pd.DataFrame = read[path.suffix]()
    return frame.astype(object).where(frame.notna(), None)


def corrected(outputs: Path, path: Path, edit: Edit, original: str = "out.csv") -> Path:
    """Write the output of a run to another file, after a person edited it."""
    frame = frame_of(outputs / original)
    changed = edit(frame)
    frame = frame if changed is None else changed
    match path.suffix:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".tsv":
            frame.to_csv(path, index=False, sep="\t")
        case ".xlsx":
            frame.to_excel(path, index=False, engine="xlsxwriter")
        case ".parquet":
            frame.to_parquet(path)
        case ".jsonl":
            frame.to_json(path, orient="records", lines=True)
    return path


def read(path: Path) -> tuple[Decisions, list[str]]:
    said: list[str] = []
    return decisions_in(path, said.append, ["what"]), said


def outcomes(path: Path, **options: Any) -> dict[tuple[str, str], str]:
    return {
        (each.system, each.text): each.code for each in decision_file(path, **options).decisions
    }


def by_hand(frame: pd.DataFrame) -> None:
    """Change a code with its title, empty one, type one where there was none, confirm one."""
    frame.loc[1, ["cpv_code", "cpv_title"]] = ["39111000", "Seats"]
    frame.loc[2, "psc_code"] = None
    frame.loc[5, "cpv_code"] = "45233140"
    frame.loc[6, "psc_status"] = "decided"


MADE = {
    ("cpv", "Office chairs"): "39111000",
    ("psc", "Cut flowers"): "",
    ("cpv", "Zxqwv"): "45233140",
}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("is_moved", [False, True])
def test_what_a_person_changed_is_a_decision(outputs: Path, suffix: str, is_moved: bool) -> None:
    """The run's own file is changed, or a copy of any format with another name beside it."""
    original = f"out.{suffix}"
    if is_moved:
        path = outputs / f"corrected.{suffix}"
    else:
        path = Path(original)
        manifest = outputs / f"{original}.manifest.json"
        Path(f"{original}.manifest.json").write_text(manifest.read_text())
    corrected(outputs, path, by_hand, original)
    psc = frame_of(outputs / original)["psc_code"][6]
    found, said = read(path)
    made = {(each.system, each.text): each.code for each in found.by_key.values()}
    assert made == MADE | {("psc", "Hens"): psc}
    assert said == []
    assert {name: n for name, n in found.counts.items() if name != "unchanged"} == {
        "changed": 2,
        "emptied": 1,
        "confirmed": 1,
    }
    kept = outcomes(path, kept="cpv")
    assert set(kept) - set(made) == {
        ("cpv", "Road marking"),
        ("cpv", "Cut flowers"),
        ("cpv", "Hens"),
    }


@pytest.mark.parametrize("name", ["sorted.xlsx", "openrefine.tsv", "excel.csv"])
def test_rows_may_move_go_and_come_and_columns_too(outputs: Path, name: str) -> None:
    def edit(frame: pd.DataFrame) -> pd.DataFrame:
        by_hand(frame)
        new = pd.DataFrame([{"what": "Garden gnomes", "cpv_code": "39298900"}])
        rest = frame.drop(index=[0, 6]).drop(columns=["psc_title", "cost_usd"])
        return pd.concat([rest.sort_values("what"), new])

    path = corrected(outputs, outputs / name, edit)
    assert outcomes(path) == MADE | {("cpv", "Garden gnomes"): "39298900"}


@pytest.mark.parametrize("form", [float, "{:,.0f}".format, "{:,}".format])
def test_codes_that_a_spreadsheet_wrote_in_another_way_are_not_changed(
    outputs: Path, form: Callable[[int], object]
) -> None:
    def edit(frame: pd.DataFrame) -> None:
        assert frame["cpv_code"].str.startswith("0").any()  # which numbers lose
        frame["cpv_code"] = pd.Series(
            [form(int(each)) if each else "" for each in frame["cpv_code"]]
        )

    for suffix in ("xlsx", "csv"):
        path = corrected(outputs, outputs / f"numbers.{suffix}", edit)
        assert outcomes(path) == {}


def test_what_is_not_understood_is_listed_and_the_rest_is_used(outputs: Path) -> None:
    def edit(frame: pd.DataFrame) -> None:
        by_hand(frame)
        frame.loc[0, "cpv_code"] = "4523314x"
        frame.loc[2, "cpv_code"] = "99999999"
        frame.loc[0, "psc_code"], frame.loc[3, "psc_code"] = "J0", "7110"

    found, (said,) = read(corrected(outputs, outputs / "wrong.xlsx", edit))
    assert {("cpv", "Office chairs"), ("cpv", "Zxqwv")} <= {
        (s, t.text) for (s, _), t in found.by_key.items()
    }
    assert "3 codes not understood, and not used:" in said
    assert "row 2, cpv_code '4523314x': not a code of cpv" in said
    assert "row 4, cpv_code '99999999': not a code of cpv" in said
    assert "row 5, psc_code '7110': 7110, but J0 in row 2" in said
    assert found.of("psc", "Road marking") is None


def test_a_table_of_which_nothing_is_understood_is_refused(outputs: Path) -> None:
    def edit(frame: pd.DataFrame) -> None:
        frame["cpv_code"] = "see above"

    path = corrected(outputs, outputs / "wrong.csv", edit)
    with pytest.raises(InputError, match=r"No code in .* is understood:\n  row 2, cpv_code 'see"):
        read(path)
    path.write_bytes(path.read_bytes().replace(b"see", b"s\xe9e"))
    with pytest.raises(InputError, match=r"0xE9 is not utf-8\. Save it as an Excel workbook"):
        read(path)
    plain = outputs / "plain.csv"
    plain.write_text("id,what\n1,road\n")
    with pytest.raises(InputError, match="neither decisions nor columns of codes"):
        read(plain)


def test_the_output_of_a_run_without_its_manifest_shows_no_corrections(outputs: Path) -> None:
    path = corrected(outputs, Path("mailed.xlsx"), by_hand)
    with pytest.raises(InputError, match="No manifest shows which codes in mailed") as refused:
        read(path)
    assert "delete columns such as cpv_status" in refused.value.hint
    codes = ["id", "what", "cpv_code"]
    checked = corrected(outputs, Path("checked.csv"), lambda frame: frame[codes])
    found, said = read(checked)
    given = frame_of(checked)["cpv_code"].astype(bool).sum()
    assert (found.counts, said) == ({"given": given}, [])


@pytest.mark.parametrize("name", ["anna.jsonl", "anna.json", "anna.txt", "anna"])
def test_the_decisions_of_a_review_may_have_any_name(tmp_path: Path, name: str) -> None:
    found = decision_file(write(tmp_path / name, [chose("road", "45233140")]))
    assert [each.by for each in found.decisions] == ["Anna"]


def test_texts_and_codes_alone_are_decisions_too(tmp_path: Path) -> None:
    Path("refined.tsv").write_text("description\tnew_cpv_code\nroad\t45233140-2\nice\t\n")
    assert outcomes(Path("refined.tsv")) == {("cpv", "road"): "45233140"}


def test_texts_that_a_program_damaged_are_not_taken_for_new_ones(outputs: Path) -> None:
    def edit(frame: pd.DataFrame) -> None:
        frame.loc[0, "what"] = "Road m\u00c3\u00a4rking"

    found, (said,) = read(corrected(outputs, outputs / "damaged.csv", edit))
    assert not found.by_key
    assert "the run did not see the texts of 2 codes" in said


def test_a_run_that_used_the_corrections_does_not_hide_them(outputs: Path, tmp_path: Path) -> None:
    """Also if its output has replaced the one that was corrected."""
    path = corrected(outputs, tmp_path / "a.xlsx", by_hand, "out.xlsx")
    options = {"systems": ["cpv", "psc"], "text_columns": "what"}
    source, output = outputs / "in.csv", tmp_path / "out.csv"
    pipeline.classify(source, output=output, **options)  # type: ignore[arg-type]
    made = outcomes(path)
    assert MADE.items() <= made.items()
    pipeline.classify(source, output=output, decisions=path, **options)  # type: ignore[arg-type]
    assert frame_of(output)["cpv_status"].tolist()[1] == "decided"
    assert outcomes(path) == made


def test_marks_are_bounded_and_survive_whatever_is_in_a_manifest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for written in (None, 3, "x", "eJwDAAAAAAE=", ["eJw"]):
        assert not CellMarks(written)
    monkeypatch.setattr("pipeline.classification.manifest.MOST_ROWS", 3)
    Path("in.csv").write_text("description\n" + "road\n" * 4)
    pipeline.classify("in.csv", output="out.csv", systems="cpv")
    assert json.loads(Path("out.csv.manifest.json").read_text())["marks"] is None
