"""The public names, for autodoc."""

from __future__ import annotations

import inspect

import pipeline
from pipeline.errors import PipelineError

__all__ = ["python_api"]

INHERITED = "   :inherited-members:"  # as `to_dict` of an evaluation, which a base class defines


def python_api() -> str:
    """Document every public name: functions, then classes, then errors."""
    named = {name: getattr(pipeline, name) for name in pipeline.__all__}
    functions = [name for name, found in named.items() if inspect.isfunction(found)]
    kinds = [name for name, found in named.items() if inspect.isclass(found)]
    errors = [name for name in kinds if issubclass(named[name], PipelineError)]
    classes = [name for name in kinds if name not in errors]
    rest = [name for name in named if name not in (*functions, *kinds)]
    return "\n\n".join(
        [
            "## Functions",
            *(_documented("autofunction", name) for name in functions),
            "## Classes",
            *(_documented("autoclass", name, "   :members:", INHERITED) for name in classes),
            "## Errors",
            *(_documented("autoexception", name) for name in errors),
            "## Data",
            *(_documented("autodata", name) for name in rest),
        ]
    )


def _documented(directive: str, name: str, *options: str) -> str:
    lines = [f".. {directive}:: pipeline.{name}", *options]
    return "\n".join(["```{eval-rst}", *lines, "```"])
