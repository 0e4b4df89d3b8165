"""The errors of the package, and those of the service's interface."""

from __future__ import annotations

from generated.markdown import code, first_paragraph, table
from pipeline import errors as module
from pipeline.errors import PipelineError
from pipeline.service.spec import FAILURES

__all__ = ["errors", "service_errors"]


def errors() -> str:
    """List the exceptions that the package raises on purpose."""
    kinds: list[type[PipelineError]] = [getattr(module, name) for name in module.__all__]
    rows = [
        [code(kind.__name__), code(kind.__mro__[1].__name__), _exit_code(kind), _meaning(kind)]
        for kind in kinds
    ]
    return table(["exception", "is a", "exit code", "meaning"], rows)


def service_errors() -> str:
    """List every way in which a request to the service gets no matches."""
    rows = [[str(one.status), code(one.error), one.when, one.then] for one in FAILURES]
    return table(["status", "`error`", "when", "what to do"], rows)


def _exit_code(kind: type[PipelineError]) -> str:
    return "4 to 7" if kind is module.ParkedError else str(kind.exit_code)


def _meaning(kind: type[PipelineError]) -> str:
    return first_paragraph(kind.__doc__)
