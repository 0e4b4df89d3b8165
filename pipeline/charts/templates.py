"""What all charts and pages share: the Jinja environment, and ticks on axes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

__all__ = ["Tick", "draw", "environment", "percent_ticks"]


def environment(package: str) -> Environment:
    """Return an environment for a package's templates: values are escaped, a missing one raises.

    The templates may include those of this room, such as the style sheet of reports, ``page.css``.
    """
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("pipeline.charts")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def draw(template: str, **values: Any) -> Markup:
    """Render a chart's template."""
    return Markup(_charts().get_template(template).render(values))  # noqa: S704 - it is escaped


@cache
def _charts() -> Environment:
    return environment("pipeline.charts")


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: its place in the drawing's units, and its label."""

    at: float
    text: str


def percent_ticks(length: float, quarters: int = 4) -> list[Tick]:
    """Return a tick for every 25 %, on an axis whose 100 % are `length` long."""
    return [Tick(length * quarter / 4, f"{25 * quarter}") for quarter in range(quarters + 1)]
