"""The Jinja environment of all pages and charts."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

__all__ = ["draw", "environment"]


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
