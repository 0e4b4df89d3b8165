"""The files that pages load, under names that change with their content."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files

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
"""Changed content gets another name, so a cached file is never out of date."""


def static(name: str) -> str:
    """Return the address of a file."""
    return f"{FOLDER}/{_addresses()[name]}"


def serve_static(request: Request) -> Response:
    """Return a file, which browsers may cache for a year."""
    for name, address in _addresses().items():
        if address == request.path_params["name"]:
            return Response(_content(name), 200, {"Cache-Control": A_YEAR}, TYPES[name])
    raise HTTPException(404)


@cache
def _addresses() -> dict[str, str]:
    digests = {name: sha256(_content(name)).hexdigest()[:12] for name in TYPES}
    return {name: name.replace(".", f"-{digest}.") for name, digest in digests.items()}


@cache
def _content(name: str) -> bytes:
    return files("pipeline.service.web").joinpath("static", name).read_bytes()
