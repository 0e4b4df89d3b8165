"""Checks pages that are one file."""

from __future__ import annotations

import re
from html.parser import HTMLParser

__all__ = ["check_complete", "check_fragment"]


class Tags(HTMLParser):
    """Checks that every element that is opened is closed, in order."""

    VOID = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check_complete(page: str) -> None:
    """Check that a page is well formed and needs no other file and no script."""
    check_fragment(page)
    assert "default-src 'none'" in page


def check_fragment(html: str) -> None:
    """Check that a part of a page is well formed and needs no file and no script."""
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert len(set(tags.ids)) == len(tags.ids)
    assert not re.search(r"<script|<link|<img|@import|url\(|src=", html)
