"""Random secrets, which are shown once and stored as hashes."""

from __future__ import annotations

import secrets
from hashlib import sha256

__all__ = ["hashed", "make_secret"]


def make_secret() -> str:
    """Return 256 random bits as 43 characters that need no escaping."""
    return secrets.token_urlsafe(32)


def hashed(secret: str) -> bytes:
    """Return the hash of a secret; 256 random bits need no slow hash."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()
