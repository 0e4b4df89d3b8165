"""The files that pages load, under names that change with their content."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

__all__ = ["FOLDER", "StaticFiles", "serve_static", "static"]

FOLDER = "/static"

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

A_YEAR = "public, max-age=31536000, immutable"
"""Changed content gets another name, so a cached file is never out of date."""


class StaticFiles:
    """Some files, each in the folder ``static`` of the package that is named for it."""

    def __init__(self, packages: Mapping[str, str]) -> None:
        self._packages = packages

    def address(self, name: str) -> str:
        """Return the address of a file."""
        return f"{FOLDER}/{self._addresses[name]}"

    def serve(self, request: Request) -> Response:
        """Return a file, which browsers may cache for a year."""
        for name, address in self._addresses.items():
            if address == request.path_params["name"]:
                kind = TYPES[PurePath(name).suffix]
                return Response(self._contents[name], 200, {"Cache-Control": A_YEAR}, kind)
        raise HTTPException(404)

    @cached_property
    def _contents(self) -> dict[str, bytes]:
        return {
            name: files(package).joinpath("static", name).read_bytes()
            for name, package in self._packages.items()
        }

    @cached_property
    def _addresses(self) -> dict[str, str]:
        digests = {name: sha256(content).hexdigest() for name, content in self._contents.items()}
        return {name: name.replace(".", f"-{digests[name][:12]}.") for name in digests}


_OWN = StaticFiles(dict.fromkeys(("style.css", "copy.js", "icon.svg"), "pipeline.service.web"))

static, serve_static = _OWN.address, _OWN.serve
