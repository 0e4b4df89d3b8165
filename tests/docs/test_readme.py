"""The README is one page, and begins with the two commands that the checks run."""

from __future__ import annotations

from tests.docs.pages import ROOT, blocks, page, rows

README = (ROOT / "README.md").read_text("utf-8")

FIRST = (
    "python3 -m venv .venv && .venv/bin/pip install --quiet -e '.[dev]' "
    "&& .venv/bin/tender-pipeline run sample_inputs/tenders.csv\n"
)
SECOND = ".venv/bin/python -m pytest\n"


def test_the_readme_is_one_page() -> None:
    assert len(README.split()) <= 750


def test_the_first_blocks_are_the_commands_that_the_checks_run() -> None:
    assert blocks(README, "[a-z]+")[:2] == [FIRST, SECOND]
    assert blocks(README, "sh")[:2] == [FIRST, SECOND]


def test_the_figures_are_those_of_the_explanation() -> None:
    text = page("explanation/accuracy")
    accepted = {cells[0]: cells for cells in rows(text, "system")}
    for system, *figures in rows(README, "system"):
        assert figures == [accepted[system][i] for i in (1, 3, 6)]


def test_every_page_can_be_reached_from_the_readme() -> None:
    linked = [path.stem for path in (ROOT / "docs").glob("*.md") if f"docs/{path.name}" in README]
    assert set(linked) >= {"tutorial", "architecture", "operations"}
    for group in ("how-to", "reference", "explanation"):
        index = page(f"{group}/index")
        for path in (ROOT / "docs" / group).glob("*.md"):
            assert path.stem == "index" or f"\n{path.stem}\n" in index, path


def test_the_changelog_has_a_section_for_what_is_under_way() -> None:
    assert "## Unreleased" in (ROOT / "CHANGELOG.md").read_text("utf-8")
