"""Tables of public tenders in, procurement codes out.

import pipeline

result = pipeline.classify(frame, systems=["cpv"])
result.to_pandas()

classify, classify_async  find codes for a table
classify_files            find them for the tables of a folder, one after another
plan                      say what that would do and cost
PaidService               the service to buy answers from, and the terms
evaluate                  measure the codes on a table whose codes are known
train                     learn from such a table
code_table                the codes of a system with their titles
Classifier, spark         classify where an engine calls a function for each batch, or in Spark
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline import spark as spark
    from pipeline.answers import SYSTEMS
    from pipeline.api import (
        FileOutcome,
        Plan,
        Result,
        classify,
        classify_async,
        classify_files,
        plan,
    )
    from pipeline.classification.classifier import Classifier
    from pipeline.classification.summary import Summary, SystemSummary
    from pipeline.codes import code_table
    from pipeline.errors import (
        CodeTableError,
        EngineError,
        InputChangedError,
        InputError,
        LedgerError,
        NoMatchError,
        OutputError,
        ParkedError,
        PipelineError,
        SettingsError,
    )
    from pipeline.evaluation import Evaluation, evaluate
    from pipeline.paid.service import PaidService
    from pipeline.purchases import Estimate, Paid, Parked
    from pipeline.settings import CsvOptions, ExcelOptions
    from pipeline.training import TrainedModel, TrainedSystem, train

    __version__: str

__all__ = [
    "SYSTEMS",
    "Classifier",
    "CodeTableError",
    "CsvOptions",
    "EngineError",
    "Estimate",
    "Evaluation",
    "ExcelOptions",
    "FileOutcome",
    "InputChangedError",
    "InputError",
    "LedgerError",
    "NoMatchError",
    "OutputError",
    "Paid",
    "PaidService",
    "Parked",
    "ParkedError",
    "PipelineError",
    "Plan",
    "Result",
    "SettingsError",
    "Summary",
    "SystemSummary",
    "TrainedModel",
    "TrainedSystem",
    "classify",
    "classify_async",
    "classify_files",
    "code_table",
    "evaluate",
    "plan",
    "train",
]

if not TYPE_CHECKING:
    HEAVY = (
        "purchases",
        "classification.summary",
        "classification.classifier",
        "api",
        "paid.service",
        "evaluation",
        "training",
        "codes",
    )
    HOMES = ("answers", "errors", "settings", *HEAVY)
    """The modules of the names. The heavy ones load pandas, Arrow and SciPy: about a second."""

    def __getattr__(name: str) -> object:
        """Import a public name on first use."""
        from importlib import import_module

        if name == "__version__":
            return import_module("pipeline.versions").VERSIONS["tender-pipeline"]
        if name == "spark":
            return import_module("pipeline.spark")
        for home in HOMES if name in __all__ else ():
            if home in HEAVY:
                from pipeline.arguments import check_platform

                check_platform()
            value = getattr(import_module(f"pipeline.{home}"), name, None)
            if value is not None:
                globals()[name] = value  # not asked for again
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """Return the public names, for who presses Tab; of the modules, only one that is public."""
        return sorted([*__all__, "__version__", "spark"])
