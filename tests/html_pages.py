"""Reads HTML strictly: what is not well-formed, or points to nothing, is an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "hr", "img", "input", "link", "meta"}

POINTERS = ("for", "aria-describedby", "aria-labelledby", "data-copies", "data-says")


@dataclass
class Element:
    """An element with what is in it, text included."""

    tag: str
    attributes: dict[str, str]
    parts: list[Element | str] = field(default_factory=list)

    def each(self, tag: str) -> Iterator[Element]:
        """Give the elements of a name within, in their order."""
        for part in self.parts:
            if isinstance(part, Element):
                if tag in (part.tag, "*"):
                    yield part
                yield from part.each(tag)

    def by_id(self, name: str) -> Element:
        (found,) = (each for each in self.each("*") if each.attributes.get("id") == name)
        return found

    @property
    def ids(self) -> list[str]:
        """The ids within."""
        return [each.attributes["id"] for each in self.each("*") if "id" in each.attributes]

    @property
    def text(self) -> str:
        """The text within, white space made plain."""
        return " ".join("".join(self._texts()).split())

    def _texts(self) -> Iterator[str]:
        for part in self.parts:
            if isinstance(part, str):
                yield part
            else:
                yield from part._texts()
                yield "" if part.tag == "mark" else " "

    def rows(self) -> list[list[str]]:
        """Return the cells of a table, row by row."""
        return [
            [cell.text for cell in row.parts if isinstance(cell, Element)]
            for row in self.each("tr")
        ]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("document", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].parts.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].parts.append(data)


def parse(text: str) -> Element:
    """Return HTML that is well formed, in which no two elements have one id."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert [element.tag for element in reader.open] == ["document"]
    ids = reader.root.ids
    assert len(ids) == len(set(ids)), ids
    return reader.root


def check_complete(page: str) -> None:
    """Check that a page is well formed and needs no other file and no script."""
    check_fragment(page)
    assert "default-src 'none'" in page


def check_fragment(html: str) -> None:
    """Check that a part of a page is well formed and needs no file and no script."""
    parse(html)
    assert not re.search(r"<script|<link|<img|@import|url\(|src=", html)


def read(text: str) -> Element:
    """Return a page of a site; it points to nothing missing and holds no code."""
    page = parse(text)
    _check(page)
    return page


def _check(page: Element) -> None:
    ids = page.ids
    for each in page.each("*"):
        for pointer in POINTERS:
            for name in each.attributes.get(pointer, "").split():
                assert name in ids, f"<{each.tag} {pointer}> points to nothing: {name}"
        assert "style" not in each.attributes
        assert not any(name.startswith("on") for name in each.attributes)
        if each.tag in ("a", "link", "script"):
            address = each.attributes.get("href", each.attributes.get("src", ""))
            assert address.startswith(("/", "#")), address
            assert not address.startswith("//")
    assert [each.attributes.get("lang") for each in page.each("html")] == ["en"]
    for landmark in ("header", "main", "footer", "h1"):
        assert len(list(page.each(landmark))) == 1, landmark
    (head,) = page.each("head")
    assert len([title.text for title in head.each("title") if title.text]) == 1
    assert not any(script.parts for script in page.each("script"))
    assert not list(page.each("style"))
