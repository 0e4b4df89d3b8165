"""How buyers word what the codes mean, in several languages: written by us, to teach a model."""

from __future__ import annotations

from pipeline.answers import System
from pipeline.codes.shipped import DATA

__all__ = ["phrases"]


def phrases(system: System) -> list[tuple[str, str]]:
    """Return (code, phrase) for the phrases of a system."""
    lines = (DATA / f"phrases_{system}.tsv").read_text("utf-8").splitlines()
    rows = (line.partition("\t") for line in lines if not line.startswith("#"))
    return [(code, phrase) for code, _, some in rows for phrase in some.split(" | ")]
