"""What is said about passwords before they are hashed, and how often they may be tried."""

from __future__ import annotations

from hashlib import sha256
from math import ceil

from starlette.requests import Request

from pipeline.service.accounts import one_way
from pipeline.service.accounts.passwords import LONGEST, SHORTEST
from pipeline.service.limits import SlidingWindow, network_of
from pipeline.service.pages.site import Site, address_of
from pipeline.service.pages.wording import count

__all__ = ["SHORTEST", "password_error", "patience", "wait_for_sign_up", "wait_to_try"]


def password_error(password: str) -> str | None:
    """Return what is wrong with a new password; None if nothing is."""
    if not password:
        return "Enter a password."
    if len(password) < SHORTEST:
        return f"The password has {count(len(password), 'character')}. Take {SHORTEST} or more."
    if len(password) > LONGEST:
        return f"The password has {len(password):,} characters. Take {LONGEST} at most."
    return None


def wait_to_try(site: Site, request: Request, email: str) -> int:
    """Count a try of a password; return the seconds to wait before it, 0 for none.

    Unknown addresses count as known ones do, so nothing tells them apart.
    """
    name = sha256(one_way(email).encode()).hexdigest()  # whatever its length
    return _wait(site.limits.log_in, _network(request)) or _wait(site.limits.account, name)


def wait_for_sign_up(site: Site, request: Request) -> int:
    """Count an account that is to be opened; return the seconds to wait before it."""
    return _wait(site.limits.sign_up, _network(request))


def patience(seconds: int) -> str:
    """Ask for it."""
    told = count(seconds, "second") if seconds < 60 else count(ceil(seconds / 60), "minute")
    return f"Too many tries. Wait {told} before the next."


def _wait(limit: SlidingWindow, caller: str) -> int:
    return ceil(limit.wait(caller))


def _network(request: Request) -> str:
    return network_of(address_of(request))
