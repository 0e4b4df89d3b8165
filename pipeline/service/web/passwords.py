"""What is said about passwords before they are hashed, and how often they may be tried."""

from __future__ import annotations

from functools import partial
from math import ceil

from starlette.requests import Request

from pipeline.service.accounts.passwords import LONGEST, SHORTEST
from pipeline.service.limits import network_of
from pipeline.service.web.site import Site, address_of
from pipeline.service.web.wording import count

__all__ = ["SHORTEST", "account_of", "password_error", "patience", "wait_for_sign_up"]


def password_error(password: str) -> str | None:
    """Return what is wrong with a new password; None if nothing is."""
    if not password:
        return "Enter a password."
    if len(password) < SHORTEST:
        return f"The password has {count(len(password), 'character')}. Take {SHORTEST} or more."
    if len(password) > LONGEST:
        return f"The password has {len(password):,} characters. Take {LONGEST} at most."
    return None


async def account_of(site: Site, request: Request, email: str, password: str) -> int | None:
    """Return whose password it is; None if it is wrong.

    Raises:
        TooManyTriesError: too many were, see `PasswordTries`.
    """
    look = partial(site.hashing, site.accounts.log_in, email, password)
    return await site.tries.account(email, address_of(request), look)


def wait_for_sign_up(site: Site, request: Request) -> int:
    """Count an account that is to be opened; return the seconds to wait before it."""
    return ceil(site.sign_ups.wait(network_of(address_of(request))))


def patience(seconds: int) -> str:
    """Ask for it."""
    told = count(seconds, "second") if seconds < 60 else count(ceil(seconds / 60), "minute")
    return f"Too many tries. Wait {told} before the next."
