"""Replaces the API key in responses, which are kept and shown: a service may repeat it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

__all__ = ["Redaction"]

SHORTEST_SECRET: Final = 12
"""Length of the shortest key that is replaced; a shorter one may be part of a word."""

ESCAPED_BY_SOME: Final = re.compile("[\"&'+<>`]")
"""Characters that some JSON encoders escape, as ``\\u003c``."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """Replaces a key by asterisks.

    Attributes:
        forms: the key as it is, and as JSON and URLs may write it.
    """

    forms: tuple[bytes, ...]

    @classmethod
    def of(cls, api_key: str | None) -> Redaction:
        """Return the redaction of a key; without a key it replaces nothing."""
        if api_key is None or len(api_key) < SHORTEST_SECRET:
            return cls(())
        found = {*_in_json(api_key), api_key, quote(api_key), quote(api_key, safe="")}
        # The longest first: an escaped form may contain the plain one.
        return cls(tuple(form.encode() for form in sorted(found, key=len, reverse=True)))

    def __call__(self, content: bytes) -> bytes:
        """Return the content without the key, at the same length."""
        for form in self.forms:
            content = content.replace(form, b"*" * len(form))
        return content


def _in_json(key: str) -> set[str]:
    """Return the ways in which JSON may write a key."""
    usual = json.dumps(key)[1:-1]
    cautious = key.replace("\\", "\\\\")
    lower = ESCAPED_BY_SOME.sub(lambda found: f"\\u{ord(found[0]):04x}", cautious)
    upper = ESCAPED_BY_SOME.sub(lambda found: f"\\u{ord(found[0]):04X}", cautious)
    written = {usual, lower, upper}
    return written | {form.replace("/", "\\/") for form in written}
