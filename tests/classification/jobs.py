"""Jobs with a matcher that gives known answers."""

from __future__ import annotations

from pathlib import Path

from pipeline.classification.file_sink import FileSink
from pipeline.classification.job import Stages
from pipeline.classification.source import Source
from pipeline.classification.summary import Summary
from pipeline.purchases import NoPurchase
from pipeline.settings import CsvOptions, Format, Settings
from pipeline.tables.formats import open_reader
from tests.fakes import ScriptedMatcher

TEXTS = ["road", "", "chairs", "gibberish", "refused", "road"]
STATUSES = ["ok", "empty", "review", "no_match", "VALIDATION_ERROR", "ok"]


def write_csv(path: Path, texts: list[str] = TEXTS) -> Path:
    path.write_text("id,description\r\n" + "".join(f"00{i},{t}\r\n" for i, t in enumerate(texts)))
    return path


def run(
    source: Path,
    output: Path,
    settings: Settings | None = None,
    *,
    matcher: ScriptedMatcher | None = None,
    overwrite: bool = False,
    output_format: Format = "csv",
) -> Summary:
    settings = settings or Settings(systems=("cpv",), min_confidence=0.5)
    reader = open_reader(source, settings.text_columns, CsvOptions())
    sink = FileSink(output, output_format, overwrite, source)
    free = NoPurchase(matcher or ScriptedMatcher(settings.systems))
    return Stages(Source(reader, source), sink, settings, free).run()
