"""A browser that keeps cookies, follows redirects and sends forms as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import urlencode

import httpx
from starlette.applications import Starlette

from tests.html_pages import Element, read
from tests.service.conftest import client_of

EMAIL, PASSWORD = "buyer@example.org", "correct horse battery"

CHROMIUM = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

FORM = "application/x-www-form-urlencoded"

Fields: TypeAlias = Mapping[str, str | Sequence[str]]


class Browser:
    """One visitor's browser.

    Attributes:
        client: what it sends with; its cookies are the visitor's.
        response: the last response.
    """

    def __init__(self, app: Starlette, scheme: str = "http", address: str = "192.0.2.1") -> None:
        self.client = client_of(
            app,
            address,
            base_url=f"{scheme}://service",
            headers={"Accept": CHROMIUM},
            follow_redirects=True,
        )
        self.response = httpx.Response(0)

    @property
    def page(self) -> Element:
        """The page that is shown."""
        return read(self.response.text)

    @property
    def place(self) -> str:
        """The path and query of the page that is shown."""
        return self.response.url.raw_path.decode()

    async def go(self, path: str, **options: Any) -> httpx.Response:
        self.response = await self.client.get(path, **options)
        return self.response

    def form(self, action: str) -> dict[str, list[str]]:
        """Return the fields of a form of the page, with their values."""
        (form,) = (each for each in self.page.each("form") if each.attributes["action"] == action)
        assert form.attributes["method"] == "post"
        fields: dict[str, list[str]] = {}
        for field in form.each("*"):
            kind = field.attributes.get("type", "")
            if kind == "checkbox" and "checked" not in field.attributes:
                continue
            if field.tag == "input":
                value = field.attributes.get("value", "")
                fields.setdefault(field.attributes["name"], []).append(value)
            elif field.tag == "textarea":
                (text,) = field.parts
                assert isinstance(text, str)
                fields[field.attributes["name"]] = [text.removeprefix("\n")]
            elif field.tag == "select":
                chosen = (one for one in field.each("option") if "selected" in one.attributes)
                fields[field.attributes["name"]] = [one.attributes["value"] for one in chosen]
        return fields

    async def send(self, action: str, **typed: str | Sequence[str]) -> httpx.Response:
        """Send a form of the page with some fields changed."""
        return await self.post(action, {**self.form(action), **typed})

    async def post(self, path: str, fields: Fields, **headers: str) -> httpx.Response:
        """Send what a form would, whether the page has one or not."""
        self.response = await self.client.post(
            path,
            content=urlencode(fields, doseq=True),
            headers={"Content-Type": FORM, "Origin": str(self.client.base_url), **headers},
        )
        return self.response

    async def sign_up(self, email: str = EMAIL, password: str = PASSWORD) -> None:
        await self.go("/signup")
        await self.send("/signup", email=email, password=password)
        assert self.place == "/dashboard", self.page.text

    async def log_in(self, email: str = EMAIL, password: str = PASSWORD) -> httpx.Response:
        await self.go("/login")
        return await self.send("/login", email=email, password=password)

    async def make_key(self, name: str = "nightly run") -> str:
        await self.go("/dashboard")
        await self.send("/keys", name=name)
        return self.page.by_id("key").attributes["value"]

    def problems(self) -> list[str]:
        """Return what the page says went wrong."""
        boxes = [
            each for each in self.page.each("div") if each.attributes.get("class") == "problem"
        ]
        return [item.text for box in boxes for item in box.each("li")]

    def field_error(self, name: str) -> str:
        """Return what the page says beside a field, which is marked as wrong."""
        field = self.page.by_id(name)
        assert field.attributes["aria-invalid"] == "true"
        assert f"error-{name}" in field.attributes["aria-describedby"].split()
        return self.page.by_id(f"error-{name}").text
