"""Hashes passwords, slowly, and random secrets, which need no slow hash."""

from __future__ import annotations

import secrets
from functools import cached_property
from hashlib import sha256
from unicodedata import normalize

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from pipeline.errors import SettingsError

__all__ = ["Passwords", "hashed", "make_secret"]

SHORTEST, LONGEST = 10, 500
"""Characters; the upper limit keeps hashing quick."""

TRIED = 4 * LONGEST + 1
"""Characters that are checked: a character decomposes into four at most."""


class Passwords:
    """Hashes and checks passwords; each takes a tenth of a second and 64 MiB."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()  # the low-memory choice of RFC 9106

    @cached_property
    def _nobodys(self) -> str:
        return self._hasher.hash("the password of an account that there is not")

    def hashed(self, password: str) -> str:
        """Return the hash of a password.

        Raises:
            SettingsError: it is too short or too long.
        """
        if len(password) < SHORTEST:
            raise SettingsError(
                f"The password has fewer than {SHORTEST} characters.", "Choose a longer one."
            )
        if len(password) > LONGEST:
            raise SettingsError(
                f"The password has more than {LONGEST} characters.", "Choose a shorter one."
            )
        return self._hasher.hash(_bytes(password))

    def matches(self, password: str, kept: str | None) -> bool:
        """Return whether a password is right; it takes as long without a hash to compare."""
        try:
            right = self._hasher.verify(kept or self._nobodys, _bytes(password[:TRIED]))
        except (VerificationError, InvalidHashError):
            return False
        return right and kept is not None


def _bytes(password: str) -> bytes:
    """Return the bytes to hash, composed by RFC 8265: é may be typed as e and an accent."""
    return normalize("NFC", password).encode("utf-8", "surrogatepass")


def make_secret() -> str:
    """Return 256 random bits as 43 characters that need no escaping."""
    return secrets.token_urlsafe(32)


def hashed(secret: str) -> bytes:
    """Return the hash of a secret; 256 random bits need no slow hash."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()
