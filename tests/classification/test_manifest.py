from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.classification import manifest
from pipeline.classification.plan import Plan
from pipeline.classification.summary import Summary
from pipeline.file_options import CsvOptions, ExcelOptions
from pipeline.money import ZERO
from pipeline.paid.result import Parked
from pipeline.settings import Settings
from pipeline.versions import VERSIONS

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
    assert Settings(**record["settings"]) == Settings()


def test_versions_are_those_that_were_read_at_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VERSIONS, "pyarrow", "9.9")
    assert manifest.manifest(*JOB)["versions"]["pyarrow"] == "9.9"


def test_the_same_job_was_done_only_if_its_output_is_complete() -> None:
    files = manifest.Files("csv", "csv", overwrite=False, csv=CsvOptions(), excel=ExcelOptions())
    parked = replace(JOB[4], parked=Parked(5, "The cost limit is reached.", "Raise it."))
    for done, is_done in ((JOB[4], True), (parked, False)):
        record = json.loads(json.dumps(manifest.manifest(*JOB[:4], done, files)))
        for fingerprint, is_same in (("abc", True), ("abd", False)):
            found = manifest.was_done(record, fingerprint, Settings(jobs=2), files, None)
            assert found == (is_done and is_same)
    assert not manifest.was_done({}, "abc", Settings(), files, None)
