"""The languages of the official CPV titles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.errors import SettingsError
from pipeline.wording import beside

__all__ = ["LANGUAGES", "checked_language"]

LANGUAGES: Mapping[str, str] = {
    "bg": "Bulgarian",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "fi": "Finnish",
    "fr": "French",
    "hr": "Croatian",
    "hu": "Hungarian",
    "it": "Italian",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "mt": "Maltese",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sv": "Swedish",
}
"""The languages' names by their ISO 639-1 codes."""


def checked_language(value: Any) -> str:
    """Return the code of a language in lower case.

    Raises:
        SettingsError: the CPV has no titles in it.
    """
    code = value.strip().lower() if isinstance(value, str) else value
    if code not in LANGUAGES:
        raise SettingsError(
            f"There are no titles in the language {value!r}.",
            f"language must be one of {', '.join(LANGUAGES)}{beside('language')}.",
        )
    return str(code)
