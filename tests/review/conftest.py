"""An enriched table, and a review of it whose page is asked in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

import pipeline
from pipeline.classification.enriched import open_enriched
from pipeline.decisions.decision_file import Decision, DecisionLog, read_decisions
from pipeline.review.pages import Access, create_app
from pipeline.review.queue import Queue
from pipeline.review.session import Review
from tests.html_pages import Element, read
from tests.service.web.browsing import CHROMIUM, FORM

PORT = 8123

TEXTS = [
    "Winter road maintenance: snow clearing and gritting of municipal streets",
    "Cut Norway spruce, one at 12 m and six at 4 m, for the town squares in December",
    "8d7f-55aa 19c3 77b0",
    "",
    "Cut Norway spruce, one at 12 m and six at 4 m, for the town squares in December",
    "Fuel for the depot",
]
"""Ok; to check, twice; without a match; empty; to check."""


def enriched(folder: Path, texts: Sequence[str] = TEXTS, **settings: Any) -> Path:
    """Classify texts and return the output."""
    source = folder / "in.csv"
    with source.open("w", newline="", encoding="utf-8") as file:
        lines = (f'{row},"{text.replace(chr(34), chr(34) * 2)}"' for row, text in enumerate(texts))
        file.write("\n".join(["id,description", *lines]) + "\n")
    output = folder / "out.csv"
    pipeline.classify(source, output=output, **{"systems": "cpv"} | settings)
    return output


@dataclass
class Sitting:
    """A review and a browser that shows its page.

    Attributes:
        review: the sitting.
        access: who may use the page.
        client: the browser.
        response: what it shows.
        opened: what the sitting has open.
    """

    review: Review
    access: Access
    client: httpx.AsyncClient
    response: httpx.Response
    opened: ExitStack

    def finish(self) -> None:
        """End the sitting, so that another one may write the same file."""
        self.opened.close()

    @property
    def page(self) -> Element:
        return read(self.response.text)

    @property
    def decisions(self) -> Sequence[Decision]:
        """What is on the disk."""
        return read_decisions(self.review.log.path).decisions

    @property
    def outcomes(self) -> list[str]:
        return [each.code or each.choice for each in self.decisions]

    @property
    def text(self) -> str:
        """The text that the page asks about."""
        return self.page.by_id("text").text

    @property
    def words(self) -> str:
        """What the page says, without spaces: it puts marks and buttons between words."""
        return "".join(self.page.text.split())

    @property
    def codes(self) -> list[str]:
        """The codes that can be chosen."""
        buttons = [each.attributes for each in self.page.each("button")]
        return [each["value"] for each in buttons if each.get("data-key", "").isdecimal()]

    async def start(self) -> httpx.Response:
        return await self.go(f"/start?token={self.access.token}")

    async def go(self, path: str = "/", **headers: str) -> httpx.Response:
        self.response = await self.client.get(path, headers=headers)
        return self.response

    async def post(self, path: str, *, headers: Any = None, **fields: object) -> httpx.Response:
        """Send a form of the page."""
        self.response = await self.client.post(
            path,
            content=urlencode(fields),
            headers={"Content-Type": FORM, "Origin": str(self.client.base_url), **(headers or {})},
        )
        return self.response

    async def choose(self, choice: str, **fields: object) -> httpx.Response:
        """Press a button of the text that the page shows."""
        (item,) = {
            each.attributes["value"]
            for each in self.page.each("input")
            if each.attributes["name"] == "item"
        }
        return await self.post("/decide", item=item, choice=choice, **fields)


Open = Callable[..., Sitting]


@pytest.fixture(scope="package")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an enriched table that no test changes."""
    return enriched(tmp_path_factory.mktemp("table"))


@pytest.fixture
def sit(tmp_path: Path, table: Path) -> Iterator[Open]:
    """Begin a sitting; its decisions go to the test's own folder."""
    with ExitStack() as all_opened:

        def sit(
            output: Path = table,
            *,
            reviewer: str = "Anna",
            blind: bool = False,
            merge: Sequence[Path] = (),
            name: str = "d.jsonl",
        ) -> Sitting:
            opened = all_opened.enter_context(ExitStack())
            described = open_enriched(output)
            queue = Queue(described)
            opened.callback(queue.close)
            log = opened.enter_context(DecisionLog(tmp_path / name))
            others = [read_decisions(path) for path in merge]
            review = Review(described, queue, log, reviewer, blind, others)
            access = Access(PORT)
            client = httpx.AsyncClient(
                transport=httpx.ASGITransport(create_app(review, access)),
                base_url=f"http://127.0.0.1:{PORT}",
                headers={"Accept": CHROMIUM},
                follow_redirects=True,
            )
            return Sitting(review, access, client, httpx.Response(0), opened)

        yield sit
