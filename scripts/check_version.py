"""Check that pyproject.toml, the top of CHANGELOG.md and the git tag have the same version.

    python scripts/check_version.py [TAG]

Without a tag, the tags of the commit are checked, and that no other commit has the version's tag.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["ROOT", "check_version", "differences", "version_of"]

ROOT = Path(__file__).resolve().parents[1]

HEADING = re.compile(r"## (\S+) \(\d{4}-\d\d-\d\d\)\n")


def check_version(tag: str | None = None) -> str:
    """Return the version to release; exit with what differs.

    Args:
        tag: the tag of the release; None for the tags of the commit, if there are any.
    """
    version = version_of((ROOT / "pyproject.toml").read_text("utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    tags = [tag] if tag else _git("tag", "--points-at", "HEAD", "--list", "v*")
    found = list(differences(version, changelog, tags))
    if not tags and _git("tag", "--list", f"v{version}"):
        found.append(f"Another commit has the tag v{version}. Raise the version in pyproject.toml.")
    if found:
        sys.exit("\n".join(found))
    return version


def version_of(pyproject: str) -> str:
    """Return the version in the text of a pyproject.toml."""
    return str(tomllib.loads(pyproject)["project"]["version"])


def differences(version: str, changelog: str, tags: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each reason why a version cannot be released.

    Args:
        version: the version in pyproject.toml.
        changelog: the text of CHANGELOG.md.
        tags: the tags of the commit.
    """
    _, *sections = re.split(r"^(?=## )", changelog, flags=re.MULTILINE)
    unreleased = sections.pop(0) if "".join(sections).startswith("## Unreleased") else ""
    if unreleased.removeprefix("## Unreleased").strip():
        yield f"CHANGELOG.md has unreleased changes. Cut a section {version} from them."
    heading = HEADING.match(sections[0]) if sections else None
    if heading is None:
        yield f"CHANGELOG.md has no heading such as '## {version} (2026-01-31)' at its top."
    elif heading[1] != version:
        yield f"pyproject.toml has version {version}, but the top of CHANGELOG.md has {heading[1]}."
    for tag in tags:
        if tag != f"v{version}":
            yield f"pyproject.toml has version {version}, but the tag is {tag}."


def _git(*arguments: str) -> list[str]:
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return done.stdout.split()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tag", nargs="?", help="the tag of the release, such as v0.1.0")
    print(check_version(parser.parse_args().tag))
