"""The first page: what this is."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from pipeline.service.accounts import STARTING_BALANCE
from pipeline.service.matching.pricing import HIGHEST, LOWEST
from pipeline.service.spec.terms import SYSTEM_NAMES
from pipeline.service.web.rendering import render
from pipeline.service.web.site import Site
from pipeline.service.web.visitors import Visitor

__all__ = ["show"]


def show(site: Site, request: Request, visitor: Visitor) -> Response:
    """Say what this is."""
    return render(
        request,
        "landing.html",
        visitor=visitor,
        systems=SYSTEM_NAMES,
        starting_balance=STARTING_BALANCE,
        lowest=LOWEST.final,
        highest=HIGHEST.final,
        key_rate=site.terms.key_rate,
        demo_rate=site.terms.demo_rate,
    )
