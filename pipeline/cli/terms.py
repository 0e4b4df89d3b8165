"""What the options of a run say of every job in it, checked once before the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.answers import System
from pipeline.classification.columns import never_ok
from pipeline.cli.output.console import warn
from pipeline.cli.paid_options import check_no_terms
from pipeline.cli.run_options import RunOptions
from pipeline.decisions import Decisions, decisions_in
from pipeline.files.cloud import Storage
from pipeline.settings import Settings, parse_systems

if TYPE_CHECKING:  # what buys is imported if there is a service, and the engine if there is none
    from pipeline.engine.model import ModelFolder
    from pipeline.paid.service import PaidService

__all__ = ["Terms"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What the options say of every job; without a service, the embedded engine answers."""

    settings: Settings
    models: Mapping[System, ModelFolder]
    service: PaidService | None
    storage: Storage
    decisions: Decisions

    @classmethod
    def of(cls, options: RunOptions) -> Terms:
        """Check the options.

        Raises:
            PipelineError: an option is wrong.
        """
        models = _opened(options.models, parse_systems(options.systems))
        decisions = decisions_in(options.decisions, warn)
        settings, storage = options.settings(models, decisions), Storage()
        for line in never_ok(settings):
            warn(line)
        service = options.service()
        if service is None:
            check_no_terms()
        return cls(settings, models, service, storage, decisions)


def _opened(folders: Sequence[str], systems: Sequence[System]) -> Mapping[System, ModelFolder]:
    if not folders:
        return {}
    from pipeline.engine.model import opened

    return opened(folders, systems)
