from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from pipeline import versions
from pipeline.classification import manifest
from pipeline.classification.plan import Plan
from pipeline.classification.summary import Summary
from pipeline.money import ZERO
from pipeline.settings import CsvOptions, ExcelOptions, Settings

JOB = (Path("in.csv"), "abc", Settings(), Plan(2, 1), Summary(2, {}, ZERO, 1.0))


def test_a_job_can_be_done_again_from_what_its_manifest_says() -> None:
    options = CsvOptions(delimiter=";", encoding="cp1252", header=False)
    excel = ExcelOptions(sheet="Tenders", header_row=3)
    files = manifest.Files("csv", "parquet", overwrite=True, csv=options, excel=excel)
    record = json.loads(json.dumps(manifest.manifest(*JOB, files)))
    said = record["files"]
    assert CsvOptions(**said.pop("csv")) == options
    assert ExcelOptions(**said.pop("excel")) == excel
    assert said == {"input_format": "csv", "output_format": "parquet", "overwrite": True}
    settings = record["settings"]
    assert Settings(**settings, roll_up=settings.pop("back_off")) == Settings()


def test_versions_are_read_before_the_work_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_late(name: str) -> str:
        raise AssertionError(name)

    monkeypatch.setattr(versions, "_version", too_late)
    assert manifest.manifest(*JOB)["versions"]["pyarrow"] == version("pyarrow")
