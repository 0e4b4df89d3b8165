"""A version is released only if pyproject.toml, the changelog and the tag agree on it."""

from __future__ import annotations

import re

import pytest
from check_version import ROOT, differences, version_of

RELEASED = (
    "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-11-22)\n\n- One.\n\n## 0.1.0 (2026-01-01)\n"
)


@pytest.mark.parametrize(
    ("version", "changelog", "tags", "said"),
    [
        ("0.2.0", RELEASED, [], None),
        ("0.2.0", RELEASED, ["v0.2.0"], None),
        ("0.2.0", RELEASED.replace("## Unreleased\n\n", ""), ["v0.2.0"], None),
        ("0.2.0", RELEASED, ["v0.1.0"], "but the tag is v0.1.0"),
        ("0.2.0", RELEASED, ["v0.2.0", "v0.2.1"], "but the tag is v0.2.1"),
        ("0.2.0", RELEASED, ["0.2.0"], "but the tag is 0.2.0"),
        ("0.1.0", RELEASED, [], "version 0.1.0, but the top of CHANGELOG.md has 0.2.0"),
        ("0.2.0", RELEASED.replace("ed\n\n##", "ed\n\n- Two.\n\n##"), [], "unreleased changes"),
        ("0.2.0", RELEASED.replace(" (2026-11-22)", ""), [], "no heading such as '## 0.2.0 (2026"),
        ("0.2.0", "# Changelog\n", [], "no heading such as"),
    ],
)
def test_a_release_is_refused_if_its_versions_differ(
    version: str, changelog: str, tags: list[str], said: str | None
) -> None:
    found = list(differences(version, changelog, tags))
    assert len(found) == (said is not None)
    assert said is None or said in found[0]


def test_the_newest_section_of_the_changelog_is_the_version_of_the_package() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    released = re.sub(r"^## Unreleased.*?(?=^## )", "", changelog, flags=re.DOTALL | re.MULTILINE)
    version = version_of((ROOT / "pyproject.toml").read_text("utf-8"))
    assert list(differences(version, released, [])) == []
