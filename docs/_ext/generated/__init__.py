"""Writes the parts of the reference pages that follow from the code.

A page asks for a part with a line of its own: ``<!-- generated: commands -->``. The part is in the
page, up to ``<!-- end of commands -->``, so that it can be read without building the site. To write
it again, run ``PYTHONPATH=docs/_ext python -m generated``; a test compares it. Parts that depend on
what is installed, or that the web shows by itself, are filled in by the build of the site alone.
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
from generated.schemas import accounts_schema, ledger_schema, record_schema

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["OF_THE_SITE", "PARTS", "rewritten", "setup"]

PARTS: dict[str, Callable[[], str]] = {
    "accounts-schema": accounts_schema,
    "columns": columns,
    "commands": commands,
    "dependencies": dependencies,
    "errors": errors,
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

OF_THE_SITE = ("dependencies", "notebook")
"""The parts that only the built site has."""

ASKED = re.compile(r"^<!-- generated: (.+) -->$", re.MULTILINE)
WRITTEN = re.compile(
    r"^(<!-- generated: (.+) -->\n).*?^(<!-- end of \2 -->)$", re.MULTILINE | re.DOTALL
)


def rewritten(page: str) -> str:
    """Return a page with the parts that stand in it as the code gives them now.

    Raises:
        KeyError: there is no such part.
    """
    return WRITTEN.sub(lambda asked: f"{asked[1]}\n{PARTS[asked[2]]()}\n\n{asked[3]}", page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill in the parts of the site alone before Sphinx parses a page."""

    def fill(_app: Sphinx, _name: str, source: list[str]) -> None:
        source[0] = ASKED.sub(
            lambda asked: PARTS[asked[1]]() if asked[1] in OF_THE_SITE else "", source[0]
        )

    app.connect("source-read", fill)
    return {"parallel_read_safe": True}
