"""Tables of public tenders in, procurement codes out.

import pipeline

result = pipeline.classify(frame, systems=["cpv"])
result.to_pandas()
"""

from pipeline.answers import SYSTEMS
from pipeline.classify import Result, classify, classify_async
from pipeline.errors import (
    CodeTableError,
    EngineError,
    InputChangedError,
    InputError,
    OutputError,
    PipelineError,
    SettingsError,
)
from pipeline.report import Summary, SystemSummary
from pipeline.settings import CsvOptions

__all__ = [
    "SYSTEMS",
    "CodeTableError",
    "CsvOptions",
    "EngineError",
    "InputChangedError",
    "InputError",
    "OutputError",
    "PipelineError",
    "Result",
    "SettingsError",
    "Summary",
    "SystemSummary",
    "classify",
    "classify_async",
]
