"""The packages that an installation brings along, with their licences, from their metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from itertools import chain

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from generated.markdown import table

__all__ = ["dependencies", "licence", "needed"]

EXTRAS = ("service", "fast", "spark")
"""The extras for users; a package is listed with the first one that brings it."""

STATED = ("License-Expression", "License")
"""Where metadata states a licence: as an expression, or in older packages as any text."""

LONGEST = 60
"""Characters of a licence that are shown; some packages put the whole text into their metadata."""


def dependencies() -> str:
    """List the packages that the tool needs, then those that each extra adds."""
    listed: set[str] = set()
    rows = []
    for extra in ("", *EXTRAS):
        found = set(needed("tender-pipeline", extra)) - listed
        kind = extra or "always"
        rows += [[name, kind, _version(name), licence(name)] for name in sorted(found)]
        listed |= found
    return table(["package", "installed with", "version here", "licence"], rows)


def needed(package: str, extra: str = "") -> dict[str, None]:
    """Return the packages that one needs, and those that these need, by their canonical names."""
    found: dict[str, None] = {}
    waiting = list(_requirements(package, {extra}))
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name == package:
            waiting += chain(*(_requirements(name, {one}) for one in requirement.extras))
        elif name not in found:
            found[name] = None
            waiting += _requirements(name, {"", *requirement.extras})
    return found


def licence(name: str) -> str:
    """Return the licence that a package states, or where to look."""
    try:
        about = distribution(name).metadata
    except PackageNotFoundError:
        return "see its page on PyPI"
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in about.get_all("Classifier") or ()
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    expression, free = (about.get_all(key) or () for key in STATED)
    stated = next(filter(None, [*expression, ", ".join(classifiers), *free]), "")
    short = stated.strip().partition("\n")[0]
    return short if 0 < len(short) <= LONGEST else "see its licence file"


def _version(name: str) -> str:
    installed = _installed(name)
    return installed.version if installed else "not installed"


def _requirements(name: str, extras: Iterable[str]) -> Iterator[Requirement]:
    """Yield what a package needs on this system, if it is installed, for any of these extras."""
    installed = _installed(name)
    for line in (installed.requires if installed else None) or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
            yield requirement


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(re.sub(r"[-_.]+", "-", name))
    except PackageNotFoundError:
        return None
