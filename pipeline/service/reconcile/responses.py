"""Responses of the Reconciliation API."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from pipeline.service.errors import ValidationError
from pipeline.service.http.requests import JSON

__all__ = ["json_response", "refuse_jsonp"]


def json_response(content: Any) -> Response:
    """Return JSON in ASCII, which may quote unpaired surrogates of the request."""
    return Response(json.dumps(content), media_type=JSON)


def refuse_jsonp(request: Request) -> None:
    """Refuse to write a script, which would run in the page that asks.

    Raises:
        ValidationError: the request asks for one.
    """
    if "callback" in request.query_params:
        raise ValidationError("There is no JSONP here. Leave callback out: CORS allows any origin.")
