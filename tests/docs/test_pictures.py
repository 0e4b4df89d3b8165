"""The pictures of the documentation are there, small, used, and described."""

from __future__ import annotations

import re

from tests.docs.pages import DOCS, DOCUMENTS

PICTURES = DOCS / "_static" / "pictures"

SMALL = 150_000
"""Bytes; a picture of a page at its usual size has less."""


def test_every_picture_is_shown_and_every_picture_that_is_shown_exists() -> None:
    texts = [path.read_text("utf-8") for path in DOCUMENTS]
    shown = {name for text in texts for name in re.findall(r"_static/pictures/([\w-]+\.png)", text)}
    assert shown == {path.name for path in PICTURES.iterdir()}
    assert shown == {path.name for path in DOCS.rglob("_static/**/*.png")}


def test_every_picture_says_what_it_shows_and_is_small() -> None:
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        assert text.count("```{image}") == len(re.findall(r"^:alt: \w.{15,}", text, re.M)), path
        assert re.search(r"!\[.{0,15}\]", text) is None, path
    assert [path.name for path in PICTURES.iterdir() if path.stat().st_size > SMALL] == []


def test_a_picture_for_a_light_page_has_one_for_a_dark_page() -> None:
    for path in DOCUMENTS:
        found = re.findall(
            r"pictures/(\w+)-(light|dark)\.png\n:alt.*\n(?::width.*\n)?:class: only-(\w+)",
            path.read_text("utf-8"),
        )
        outside = path.read_text("utf-8").count("](docs/_static/")  # as in the README
        assert len(found) + outside == path.read_text("utf-8").count(".png")
        pairs = [(name, scheme) for name, scheme, only in found if scheme == only]
        assert len(pairs) == len(found)
        light = [name for name, scheme in pairs if scheme == "light"]
        assert light == [name for name, scheme in pairs if scheme == "dark"]
