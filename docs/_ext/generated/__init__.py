"""Writes the reference pages from the code at each build, so that they are never out of date.

A page asks for a part with a line of its own: ``<!-- generated: commands -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from generated.columns import columns
from generated.commands import commands
from generated.dependencies import dependencies
from generated.errors import errors, service_errors
from generated.http_api import examples, fields, paths
from generated.manifest import manifest_example
from generated.metrics import metrics
from generated.notebook import notebook
from generated.python_api import python_api
from generated.schemas import accounts_schema, export_columns, ledger_schema, record_schema

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["PARTS", "filled", "setup"]

PARTS: dict[str, Callable[[], str]] = {
    "accounts-schema": accounts_schema,
    "columns": columns,
    "commands": commands,
    "dependencies": dependencies,
    "errors": errors,
    "export-columns": export_columns,
    "http-examples": examples,
    "http-fields": fields,
    "http-paths": paths,
    "ledger-schema": ledger_schema,
    "manifest-example": manifest_example,
    "metrics": metrics,
    "notebook": notebook,
    "python-api": python_api,
    "record-schema": record_schema,
    "service-errors": service_errors,
}
"""The parts that a page can include."""

ASKED = re.compile(r"^<!-- generated: (.+) -->$", re.MULTILINE)


def filled(page: str) -> str:
    """Return a page with the parts that it includes.

    Raises:
        KeyError: there is no such part.
    """
    return ASKED.sub(lambda asked: PARTS[asked[1]](), page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill each page before Sphinx parses it."""

    def fill(_app: Sphinx, _name: str, source: list[str]) -> None:
        source[0] = filled(source[0])

    app.connect("source-read", fill)
    return {"parallel_read_safe": True}
