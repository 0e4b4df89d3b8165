from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from pipeline.classification import manifest, provenance
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


def test_a_library_that_is_not_installed_as_a_package_does_not_lose_the_job() -> None:
    assert provenance._version("not-installed-as-a-package") == "unknown"


def test_versions_are_those_of_the_installed_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {library: version(library) for library in provenance.LIBRARIES}
    assert installed == provenance.VERSIONS
    monkeypatch.setattr(provenance, "_installed", dict)  # as where packages have another form
    assert provenance._version("tender-pipeline") == version("tender-pipeline")


def test_versions_are_read_before_the_work_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_late(name: str) -> str:
        raise AssertionError(name)

    monkeypatch.setattr(provenance, "_version", too_late)
    assert manifest.manifest(*JOB)["versions"]["pyarrow"] == version("pyarrow")
