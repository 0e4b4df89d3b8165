"""The figures agree with another scorer's, where OTHER_SCORER names its script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline.answers import SYSTEMS, System
from pipeline.codes import load

SCORER = Path(os.environ.get("OTHER_SCORER", ""))

pytestmark = pytest.mark.skipif(
    not SCORER.is_file(), reason="OTHER_SCORER names no script that scores"
)


def labelled(system: System) -> pa.Table:
    """Return titles with their codes, and some with a code above or beside theirs."""
    table = load(system)
    codes = [code for code in table.titles if "-" not in code and len(code) >= 4]
    rows = []
    for place in range(0, len(codes), max(1, len(codes) // 150)):
        code = codes[place]
        above = [each for each in table.ancestors(code) if len(each) >= 4 and "-" not in each]
        truth = above[-1] if above and place % 3 == 0 else codes[place - place % 4]
        rows.append({"description": table.titles[code], "code": truth})
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_figures_are_those_of_the_other_scorer(system: System, tmp_path: Path) -> None:
    table = labelled(system)
    enriched = pipeline.classify(table, systems=[system], top=10).table
    pq.write_table(enriched, tmp_path / "enriched.parquet")
    command = [sys.executable, str(SCORER), str(tmp_path / "enriched.parquet")]
    done = subprocess.run(
        [*command, "--system", system, "--json"], capture_output=True, text=True, check=True
    )
    theirs = json.loads(done.stdout)
    (figures,) = (found.figures for found in pipeline.evaluate(table, system=system).subjects)
    ours: dict[str, float] = {
        "rows": figures.rows,
        "answered": 1 - figures.unanswered.value,
        "ece": figures.calibration_error,
        "code@1_top_half": figures.curve[49].right.value,
    }
    for depth, top in figures.depths.items():
        digits = depth.digits
        name = "code" if digits == "all" else digits if digits == "stated" else f"prefix{digits}"
        ours |= {f"{name}@{top}": share.value for top, share in top.items()}
    assert {name: ours[name] for name in theirs} == pytest.approx(theirs)
    assert 0 < theirs["code@1"] < 1
