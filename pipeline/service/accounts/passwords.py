"""Passwords: kept as argon2 hashes, which take a tenth of a second and 64 MiB to try."""

from __future__ import annotations

from functools import cached_property
from unicodedata import normalize

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from pipeline.errors import SettingsError

__all__ = ["Passwords"]

SHORTEST, LONGEST = 10, 500
"""Characters. Long is what makes a password good; the bound keeps hashing quick."""


TRIED = 4 * LONGEST + 1
"""Characters that are looked at: a character decomposes into four at most."""


class Passwords:
    """Hashes passwords and tries them.

    Args:
        hasher: how; the default is the low-memory choice of RFC 9106.
    """

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()

    @cached_property
    def _nobodys(self) -> str:
        return self._hasher.hash("the password of an account that there is not")

    def hashed(self, password: str) -> str:
        """Return what is kept of a password.

        Raises:
            SettingsError: it is too short or too long.
        """
        if len(password) < SHORTEST:
            raise SettingsError(
                f"The password has fewer than {SHORTEST} characters.", "Take a longer one."
            )
        if len(password) > LONGEST:
            raise SettingsError(
                f"The password has more than {LONGEST} characters.", "Take a shorter one."
            )
        return self._hasher.hash(_bytes(password))

    def matches(self, password: str, kept: str | None) -> bool:
        """Say whether a password is the one; it takes as long where there is none to compare."""
        try:
            right = self._hasher.verify(kept or self._nobodys, _bytes(password[:TRIED]))
        except (VerificationError, InvalidHashError):
            return False
        return right and kept is not None


def _bytes(password: str) -> bytes:
    """Return what is hashed, composed as RFC 8265 has it: é may be typed as e and an accent."""
    return normalize("NFC", password).encode("utf-8", "surrogatepass")
