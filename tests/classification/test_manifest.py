from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.classification.manifest import manifest, was_done
from pipeline.classification.plan import Plan
from pipeline.classification.source import Source
from pipeline.classification.summary import Summary
from pipeline.money import ZERO
from pipeline.purchases import Parked
from pipeline.settings import CsvOptions, ExcelOptions, Files, Settings
from pipeline.tables.arrow import ArrowReader

READER = ArrowReader(pa.table({}), ())

DONE = Summary(2, {}, ZERO, 1.0)


def recorded(files: Files | None = None, summary: Summary = DONE) -> dict[str, Any]:
    """Return the manifest of a job after a way through JSON."""
    source = Source(READER, Path("in.csv"), files)
    found = manifest(source, Settings(), Plan(2, 1), summary)
    again: dict[str, Any] = json.loads(json.dumps(found))
    return again


def test_a_job_can_be_done_again_from_what_its_manifest_says() -> None:
    options = CsvOptions(delimiter=";", encoding="cp1252", header=False)
    excel = ExcelOptions(sheet="Tenders", header_row=3)
    files = Files("csv", "parquet", overwrite=True, csv=options, excel=excel)
    record = recorded(files)
    said = record["files"]
    assert CsvOptions(**said.pop("csv")) == options
    assert ExcelOptions(**said.pop("excel")) == excel
    formats = {"input_format": "csv", "output_format": "parquet"}
    assert said == {**formats, "overwrite": True, "report": None}
    assert Settings(**record["settings"]) == Settings()


def test_the_same_job_was_done_only_if_its_output_is_complete() -> None:
    files = Files("csv", "csv", overwrite=False, csv=CsvOptions(), excel=ExcelOptions())
    parked = replace(DONE, parked=Parked(5, "The cost limit is reached.", "Raise it."))
    for done, is_done in ((DONE, True), (parked, False)):
        record = recorded(files, done)
        for fingerprint, is_same in (("", True), ("abd", False)):
            found = was_done(record, fingerprint, Settings(jobs=2), files, None)
            assert found == (is_done and is_same)
    assert not was_done({}, "", Settings(), files, None)
