"""Identifies a job in the ledger, so that the same command or call continues it."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from pipeline.files.paths import AnyPath, resolved
from pipeline.settings import Settings
from pipeline.tables import Batch

__all__ = ["of_contents", "of_files"]


def of_files(settings: Settings, source: AnyPath, output: AnyPath | None) -> str:
    """Return the identity of a job on files or objects, whatever is in them.

    Args:
        settings: the job's settings.
        source: the input.
        output: the output; None for one in memory.
    """
    where = (resolved(source), output and resolved(output))
    return _digest((*where, *_asked(settings)))


def of_contents(settings: Settings, batches: Iterable[Batch]) -> str:
    """Return the identity of a job on a table in memory, which its texts in order determine."""
    texts = sha256()
    for batch in batches:
        for text in batch.texts:
            texts.update(sha256(text.encode()).digest())
    return _digest((texts.hexdigest(), *_asked(settings)))


def _asked(settings: Settings) -> tuple[object, ...]:
    return settings.systems, settings.text_columns, settings.limit_rows


def _digest(what: tuple[object, ...]) -> str:
    return sha256(repr(what).encode()).hexdigest()
