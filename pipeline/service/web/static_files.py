"""The files that pages load, under names that change with their content."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import PurePath

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

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
        self._names: dict[str, str] = {}
        self._contents: dict[str, bytes] = {}
        for name, package in packages.items():
            content = files(package).joinpath("static", name).read_bytes()
            named = name.replace(".", f"-{sha256(content).hexdigest()[:12]}.")
            self._names[name], self._contents[named] = named, content

    def address(self, name: str) -> str:
        """Return the address of a file."""
        return f"{FOLDER}/{self._names[name]}"

    def serve(self, request: Request) -> Response:
        """Return a file, which browsers may cache for a year."""
        name = request.path_params["name"]
        if name not in self._contents:
            raise HTTPException(404)
        kind = TYPES[PurePath(name).suffix]
        return Response(self._contents[name], 200, {"Cache-Control": A_YEAR}, kind)


_OWN = StaticFiles(dict.fromkeys(("style.css", "copy.js", "icon.svg"), "pipeline.service.web"))

static, serve_static = _OWN.address, _OWN.serve
