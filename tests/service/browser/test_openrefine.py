"""A page of another origin, as OpenRefine's is, reconciles and frames previews."""

from __future__ import annotations

from playwright.sync_api import BrowserContext
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from tests.paid.serving import serving
from tests.service.browser.conftest import Site

RECONCILE = """async (service) => {
    const manifest = await (await fetch(service)).json();
    const frame = document.createElement("iframe");
    frame.src = manifest.preview.url.replace("{{id}}", "45233140");
    document.body.append(frame);
    const body = new URLSearchParams({queries: JSON.stringify({q0: {query: "45233140-2"}})});
    const answered = await (await fetch(service, {method: "POST", body})).json();
    const error = await (await fetch(service + "?queries=7")).json();
    return [manifest.versions, answered.q0.result[0].name, error.error];
}"""


async def openrefine(_: Request) -> HTMLResponse:
    return HTMLResponse("<!DOCTYPE html><title>OpenRefine</title>")


def test_a_page_of_another_origin_reconciles_and_frames_a_preview(
    context: BrowserContext, site: Site
) -> None:
    page = context.new_page()
    with serving(Starlette(routes=[Route("/", openrefine)])) as address:
        page.goto(address)
    found = page.evaluate(RECONCILE, f"{site.address}/reconcile/cpv")
    assert found == [["0.2"], "Roadworks", "VALIDATION_ERROR"]
    page.frame_locator("iframe").get_by_role("heading", name="45233140 Roadworks").wait_for()
