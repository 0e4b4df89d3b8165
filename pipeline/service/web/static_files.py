"""The style sheet and what else pages load: under names that change with the content."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

__all__ = ["FOLDER", "serve_static", "static"]

FOLDER = "/static"

TYPES = {
    "style.css": "text/css; charset=utf-8",
    "copy.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}

A_YEAR = "public, max-age=31536000, immutable"
"""The name of changed content is another, so what is kept is never out of date."""


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    media_type: str


def static(name: str) -> str:
    """Return the address of a file."""
    return f"{FOLDER}/{_addresses()[name]}"


def serve_static(request: Request) -> Response:
    """Answer with a file, to be kept for good."""
    file = _files().get(request.path_params["name"])
    if file is None:
        raise HTTPException(404)
    return Response(file.content, 200, {"Cache-Control": A_YEAR}, file.media_type)


@cache
def _files() -> dict[str, _File]:
    return {
        address: _File(_folder().joinpath(name).read_bytes(), TYPES[name])
        for name, address in _addresses().items()
    }


@cache
def _addresses() -> dict[str, str]:
    return {name: _address(name) for name in TYPES}


def _address(name: str) -> str:
    stem, _, ending = name.partition(".")
    return f"{stem}-{sha256(_folder().joinpath(name).read_bytes()).hexdigest()[:12]}.{ending}"


def _folder() -> Any:
    return files("pipeline.service.web").joinpath("static")
