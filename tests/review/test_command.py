"""`tender-pipeline review` as a process: it starts, can be killed at any time, and continues."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import httpx
import pytest

from pipeline.decisions import read_decisions
from tests.cli.test_run import Command, command
from tests.forking import Process
from tests.review.conftest import enriched
from tests.service.web.browsing import FORM

__all__ = ["command"]


def started(output: Path, *more: object) -> tuple[Process, str]:
    """Start a review; return it with the link that it prints."""
    arguments = ["review", output, "--no-browser", "--reviewer", "Anna", *more]
    process = Process(arguments, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if link := re.search(r"http://127\.0\.0\.1:\d+/start\?token=\S+", line):
            return process, link[0]
    raise AssertionError("it ended without a link")


def decide(client: httpx.Client, page: str, choice: str) -> httpx.Response:
    """Decide the text of a page."""
    fields = dict(re.findall(r'name="(form_token|item)" value="([^"]*)"', page))
    headers = {"Origin": str(client.base_url), "Content-Type": FORM}
    return client.post("/decide", data=fields | {"choice": choice}, headers=headers)


def test_a_killed_review_has_every_decision_that_the_page_confirmed(tmp_path: Path) -> None:
    output = enriched(tmp_path)
    process, link = started(output)
    with (
        process,
        httpx.Client(base_url=link.partition("/start")[0], follow_redirects=True) as client,
    ):
        page = client.get(link).text
        for choice in ("none", "none"):
            page = decide(client, page, choice).text
        process.kill()
        assert process.wait(20) == -signal.SIGKILL
    file = output.with_name("out.csv.decisions.jsonl")
    assert [each.choice for each in read_decisions(file).decisions] == ["none", "none"]
    file.write_bytes(file.read_bytes() + b'{"version": 1, "sys')  # a third was under way

    process, link = started(output)
    with (
        process,
        httpx.Client(base_url=link.partition("/start")[0], follow_redirects=True) as client,
    ):
        page = client.get(link).text
        assert "2 of 3 texts decided" in page
        assert "Nothing is left" in decide(client, page, "none").text
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(20)
    assert process.wait() == 0
    assert "1 decision by Anna saved in" in out
    assert f"tender-pipeline run {tmp_path / 'in.csv'} --decisions {file}" in out
    assert len(read_decisions(file).decisions) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.csv"], "nothing.csv does not exist."),
        (["out.csv", "--reviewer", " "], "--reviewer NAME"),
        (["out.csv", "--reviewer", "a\nb"], "not one line"),
        (["out.csv", "--merge", "out.csv"], "line 1, is not a decision"),
        (["out.csv", "--decisions", "out.csv"], "line 1, is not a decision"),
        (["in.csv"], "has no manifest that names its text columns"),
    ],
)
def test_a_wrong_argument_is_one_clear_error(
    command: Command,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    output = enriched(tmp_path, ["road"])
    before = output.read_bytes()
    assert command("review", *arguments) == 2
    assert said in capsys.readouterr().err
    assert output.read_bytes() == before
