"""Blots the API key out of what a service repeats of it: responses are kept and shown."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

__all__ = ["Redaction"]

SHORTEST_SECRET: Final = 12
"""Characters of the shortest key that is blotted out; a shorter one may be part of a word."""

ESCAPED_BY_SOME: Final = re.compile("[\"&'+<>`]")
"""What writers of JSON for web pages write as ``\\u003c``."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """Replaces a key by stars.

    Attributes:
        forms: the key as it is, and as JSON and URLs may write it.
    """

    forms: tuple[bytes, ...]

    @classmethod
    def of(cls, api_key: str | None) -> Redaction:
        """Return what blots out a key; one that leaves all as it is where there is none."""
        if api_key is None or len(api_key) < SHORTEST_SECRET:
            return cls(())
        found = {*_in_json(api_key), api_key, quote(api_key), quote(api_key, safe="")}
        # The longest first: an escaped form may hold the plain one.
        return cls(tuple(form.encode() for form in sorted(found, key=len, reverse=True)))

    def __call__(self, content: bytes) -> bytes:
        """Return the content without the key, and no longer or shorter than it was."""
        for form in self.forms:
            content = content.replace(form, b"*" * len(form))
        return content


def _in_json(key: str) -> set[str]:
    """Return how JSON may write a key: with or without a backslash before each slash."""
    usual = json.dumps(key)[1:-1]
    cautious = key.replace("\\", "\\\\")
    lower = ESCAPED_BY_SOME.sub(lambda found: f"\\u{ord(found[0]):04x}", cautious)
    upper = ESCAPED_BY_SOME.sub(lambda found: f"\\u{ord(found[0]):04X}", cautious)
    written = {usual, lower, upper}
    return written | {form.replace("/", "\\/") for form in written}
