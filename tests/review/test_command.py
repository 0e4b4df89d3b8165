"""`tender-pipeline review` as a process: it starts, can be killed at any time, and continues."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from pipeline.decisions.decision_file import read_decisions
from pipeline.engine.model.folder import SHIPPED
from tests.cli.conftest import Command, command
from tests.decisions.samples import chose, nothing_fits, write
from tests.forking import Process
from tests.review.conftest import TEXTS, enriched
from tests.service.web.browsing import FORM

__all__ = ["command"]

LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/start\?token=\S+")


@contextmanager
def started(output: Path) -> Iterator[tuple[Process, httpx.Client, str]]:
    """Start a review; give it, a browser and the first page."""
    arguments = ["review", output, "--no-browser", "--reviewer", "Anna"]
    with Process(arguments, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            link = next(found for line in process.stdout if (found := LINK.search(line)))
            with httpx.Client(base_url=link[1], follow_redirects=True, timeout=60) as client:
                yield process, client, client.get(link[0]).text
        finally:
            process.kill()


def decide(client: httpx.Client, page: str, choice: str) -> httpx.Response:
    """Decide the text of a page."""
    fields = dict(re.findall(r'name="(item)" value="([^"]*)"', page))
    headers = {"Origin": str(client.base_url), "Content-Type": FORM}
    return client.post("/decide", data=fields | {"choice": choice}, headers=headers)


def test_a_killed_review_has_every_decision_that_the_page_confirmed(tmp_path: Path) -> None:
    """PSC, because its index for the search is small."""
    texts = [TEXTS[place] for place in (1, 2, 5)]
    output = enriched(tmp_path, texts, systems="psc", min_confidence=1.0)
    with started(output) as (process, client, page):
        for choice in ("none", "none"):
            page = decide(client, page, choice).text
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
    file = output.with_name("out.csv.decisions.jsonl")
    assert [each.choice for each in read_decisions(file).decisions] == ["none", "none"]
    file.write_bytes(file.read_bytes() + b'{"version": 1, "sys')  # a third was under way

    with started(output) as (process, client, page):
        assert "2 of 3 texts decided" in page
        assert "Nothing is left" in decide(client, page, "none").text
        client.close()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(60)
        assert process.wait(60) == 0
    assert "1 decision by Anna saved in" in out
    assert f"next, to write them into the table, repeat the run with --decisions {file}" in out
    assert len(read_decisions(file).decisions) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.csv"], "nothing.csv does not exist."),
        (["."], ". is not a file."),
        (["out.csv", "--reviewer", " "], "--reviewer NAME"),
        (["out.csv", "--reviewer", "a\nb"], "not one line"),
        (["out.csv", "--merge", "in.csv"], "in.csv has neither decisions nor columns of codes"),
        (["out.csv", "--merge", "no.jsonl"], "no.jsonl cannot be read"),
        (["out.csv", "--decisions", "out.csv"], "are the same file, which would be lost"),
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
    output = enriched(tmp_path, ["road"], systems="psc")
    before = output.read_bytes()
    assert command("review", *arguments) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "--decisions FILE" not in err  # where this review's own decisions go
    assert output.read_bytes() == before


@pytest.fixture
def unserved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a review end at once."""
    monkeypatch.setattr("pipeline.service.server.Server.run", lambda *_: None)
    monkeypatch.setattr("pipeline.review.pages.Candidates.load", lambda _: None)


@pytest.mark.usefixtures("unserved")
def test_a_review_says_that_the_model_of_the_run_is_gone(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, review = Path("model"), ("review", tmp_path / "out.csv", "--no-browser")
    model.symlink_to(SHIPPED)
    enriched(tmp_path, ["road"], systems="psc", min_confidence=1.0, models="model")
    assert command(*review) == 0
    assert "model" not in capsys.readouterr().err
    model.unlink()
    assert command(*review) == 0
    assert f"The run's model {model.absolute()} is gone or has changed" in capsys.readouterr().err


@pytest.mark.usefixtures("unserved")
def test_a_review_without_decisions_names_no_next_command(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    enriched(tmp_path, ["road"], systems="psc,naics", min_confidence=1.0)
    assert command("review", "out.csv", "--no-browser", "--reviewer", "Anna") == 0
    out = capsys.readouterr().out
    assert "to check: 2 codes (PSC 1, NAICS 1); decided: 0" in out
    assert "0 decisions by Anna saved in" in out
    assert "next" not in out


@pytest.mark.usefixtures("unserved")
def test_what_reviewers_disagree_about_is_counted_once_for_each_system(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    enriched(tmp_path, ["road"], systems="psc,naics", min_confidence=1.0)
    none = [nothing_fits("road", system=system) for system in ("psc", "naics")]
    write(tmp_path / "out.csv.decisions.jsonl", none)
    codes = {"psc": "Z2LB", "naics": "237310"}
    other = [chose("road", code, system=system, by="Ben") for system, code in codes.items()]
    write(tmp_path / "ben.jsonl", other)
    advised = ["--merge", "ben.jsonl", "--merge", "out.csv.decisions.jsonl"]  # by run; see `merged`
    assert command("review", "out.csv", "--no-browser", *advised) == 0
    assert "Reviewers disagree about 2 codes, shown first" in capsys.readouterr().out
