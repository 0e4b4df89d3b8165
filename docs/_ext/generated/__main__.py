"""Writes the generated parts of the pages again: ``PYTHONPATH=docs/_ext python -m generated``."""

from __future__ import annotations

from pathlib import Path

from generated import rewritten

for path in sorted(Path(__file__).parents[2].rglob("*.md")):
    page = path.read_text("utf-8")
    if (now := rewritten(page)) != page:
        path.write_text(now, "utf-8")
