from __future__ import annotations

import importlib
import pkgutil

import pipeline


def test_the_public_names_are_these() -> None:
    assert sorted(pipeline.__all__) == [
        "CodeTableError",
        "CsvOptions",
        "EngineError",
        "InputChangedError",
        "InputError",
        "OutputError",
        "PipelineError",
        "Result",
        "SYSTEMS",
        "SettingsError",
        "Summary",
        "SystemSummary",
        "classify",
        "classify_async",
    ]


def test_every_public_name_is_there_and_documented() -> None:
    for name in pipeline.__all__:
        assert getattr(pipeline, name).__doc__


def test_every_module_says_in_its_first_line_why_it_exists() -> None:
    for module in pkgutil.walk_packages(pipeline.__path__, "pipeline."):
        if not module.name.endswith("__main__"):
            doc = importlib.import_module(module.name).__doc__
            assert doc and len(doc.splitlines()[0]) > 20, module.name
