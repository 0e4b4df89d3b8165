"""Take the pictures of the documentation again, with a Chromium without a window.

    python scripts/screenshots.py --labelled LABELLED.csv --system cpv

writes ``docs/_static/pictures``, each in light and in dark colours: the terminal, the report of a
run, the review of its output, a notebook, the page of an evaluation of the labelled table (with the
columns ``text`` and ``code``), and the service's dashboard. It needs the extra ``dev``, ``script``
of util-linux, and Debian's ``chromium-headless-shell`` or ``chromium``. Without ``--labelled``, the
page of an evaluation keeps its picture.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from io import BytesIO
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import Literal

import httpx
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "_static" / "pictures"
Scheme = Literal["light", "dark"]
BOTH: tuple[Scheme, ...] = ("light", "dark")
WIDTH = 900

COLOURS = 64

PORT = 8917

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1f2933; --line: #dfe3e6; --code: #f5f6f7; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14181d; --ink: #e4e2dc; --line: #2c343d; --code: #1d232a; }
}
body { margin: 0; padding: 22px 26px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 ui-sans-serif, system-ui, sans-serif; }
pre { margin: 0; font: 14px/1.55 ui-monospace, "DejaVu Sans Mono", monospace; }
.prompt { color: #0e8a86; }
.code { margin: 0 0 12px; padding: 10px 14px; background: var(--code); white-space: pre-wrap;
  border: 1px solid var(--line); border-radius: 4px; }
.output { margin: 0 0 18px 14px; }
.dataframe { border: 0; border-collapse: collapse; }
.dataframe :is(td, th) { padding: 4px 12px 4px 0; border: 0; text-align: left;
  border-bottom: 1px solid var(--line); }
"""


def main() -> None:
    """Take all pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--labelled", type=Path, help="a table with the columns text and code")
    parser.add_argument("--system", default="psc", help="whose codes they are")
    options = parser.parse_args()
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        (folder / "sample_inputs").symlink_to(ROOT / "sample_inputs")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
            args=["--no-sandbox"],
        )
        _take(browser, _terminal(folder), "terminal")
        _take(browser, folder / "report.html", "report", height=720)
        _take(browser, _notebook(folder), "notebook", height=720)
        if options.labelled:
            _take(browser, _evaluation(folder, options), "evaluation", height=820)
        _review(browser, folder)
        _dashboard(browser, folder)
        browser.close()


def _tool(folder: Path, *arguments: str) -> str:
    """Run the command in a folder; return what it prints."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(  # noqa: S603 - all are our own
        [sys.executable, "-m", "pipeline", *arguments],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def _terminal(folder: Path) -> Path:
    """Return a page with what a run prints on a terminal, without its log."""
    arguments = "run sample_inputs/tenders.csv --report report.html"
    command = f"stty cols 96; {quote(sys.executable)} -m pipeline {arguments} 2>/dev/null"
    done = subprocess.run(  # noqa: S603 - as above
        ["script", "-qec", command, "/dev/null"],  # noqa: S607 - wherever it is
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
    )
    shown = f'<span class="prompt">$</span> tender-pipeline {arguments}\n'
    return _page(folder / "terminal.html", f"<pre>{shown}{escape(done.stdout)}</pre>")


def _evaluation(folder: Path, options: argparse.Namespace) -> Path:
    labelled = folder / f"labelled{''.join(options.labelled.suffixes)}"
    labelled.symlink_to(options.labelled.resolve())
    columns = ("--text-column", "text", "--sample", "2000", "--report", "evaluation.html")
    _tool(folder, "evaluate", labelled.name, "--system", options.system, *columns)
    return folder / "evaluation.html"


def _notebook(folder: Path) -> Path:
    """Return a page with the first cells of the example notebook, as Jupyter shows them."""
    cells = json.loads((ROOT / "docs" / "how-to" / "notebook.ipynb").read_text("utf-8"))["cells"]
    parts = []
    for cell in [cell for cell in cells if cell["cell_type"] == "code"][:2]:
        parts.append(f'<pre class="code">{escape("".join(cell["source"]))}</pre>')
        parts += [
            f'<div class="output">{"".join(output["data"]["text/html"])}</div>'
            for output in cell["outputs"]
        ]
    return _page(folder / "notebook.html", "".join(parts))


def _page(path: Path, body: str) -> Path:
    path.write_text(f"<!DOCTYPE html><meta charset=utf-8><style>{STYLE}</style>{body}", "utf-8")
    return path


def _take(
    browser: Browser,
    page: Path,
    name: str,
    height: int | None = None,
) -> None:
    """Take a picture of a page in each scheme, down to a height; None for all of it."""
    for scheme in BOTH:
        context = browser.new_context(
            viewport={"width": WIDTH, "height": height or 200}, color_scheme=scheme
        )
        opened = context.new_page()
        opened.goto(page.as_uri())
        _save(opened, f"{name}-{scheme}", whole=height is None)
        context.close()


def _save(page: Page, name: str, whole: bool) -> None:
    path = PICTURES / f"{name}.png"
    picture = Image.open(BytesIO(page.screenshot(full_page=whole))).convert("RGB")
    # A picture of a page has few colours, and every clone of the repository has all pictures.
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def _save_both(page: Page, name: str) -> None:
    for scheme in BOTH:
        page.emulate_media(color_scheme=scheme)
        _save(page, f"{name}-{scheme}", whole=False)


def _review(browser: Browser, folder: Path) -> None:
    """Show the first question of a review, and a search in it."""
    _tool(folder, "run", "sample_inputs/tenders.csv", "--systems", "cpv", "--overwrite")
    command = [sys.executable, "-m", "pipeline", "review", "outputs/tenders.classified.csv"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(  # noqa: S603 - as above
        [*command, "--no-browser"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        links = (re.search(r"http://\S+", line) for line in process.stdout or ())
        context = browser.new_context(viewport={"width": WIDTH, "height": 900})
        page = context.new_page()
        page.goto(next(link.group() for link in links if link))
        _save_both(page, "review")
        page.keyboard.press("o")
        page.keyboard.type("street lighting")
        page.keyboard.press("Enter")
        page.get_by_text("codes for").wait_for()
        _save_both(page, "search")
        context.close()
        process.send_signal(signal.SIGINT)


def _dashboard(browser: Browser, folder: Path) -> None:
    _tool(folder, "accounts", "open", "--data", "accounts")
    with _serving(folder / "accounts") as address:
        context = browser.new_context(base_url=address, viewport={"width": WIDTH, "height": 720})
        page = context.new_page()
        page.goto("/signup")
        page.get_by_label("E-mail address").fill("buyer@example.org")
        page.get_by_label("Password").fill("a long and plain one")
        page.get_by_role("button", name="Sign up").click()
        page.wait_for_url("**/dashboard")
        page.get_by_label("Name of a new key").fill("nightly run")
        page.get_by_role("button", name="Make a key").click()
        key = page.get_by_label("API key “nightly run”").input_value()
        for number in range(40):
            system = ("cpv", "cpv", "psc", "naics")[number % 4]
            httpx.post(
                f"{address}/api/{system}/match",
                json={"description": f"Resurfacing of section {number} of the ring road"},
                headers={"X-API-Key": key},
            ).raise_for_status()
        page.goto("/dashboard")
        _save_both(page, "dashboard")
        context.close()


@contextmanager
def _serving(data: Path) -> Iterator[str]:
    """Run the service on a port of its own; yield its address."""
    address = f"http://127.0.0.1:{PORT}"
    command = [sys.executable, "-m", "pipeline", "serve", "--data", str(data), "--port", str(PORT)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=environment) as process:  # noqa: S603 - as above
        try:
            for _ in range(600):
                try:
                    httpx.get(address)
                    break
                except httpx.ConnectError:
                    time.sleep(0.1)
            yield address
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
