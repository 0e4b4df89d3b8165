"""A settings file that was only found sends no key, no text and no output anywhere by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forking import ran_on_terminal
from tests.paid.command_line import CommandLine
from tests.paid.serving import Service

HERE = Path("tender-pipeline.toml")
FOUND = "tender-pipeline.toml, which was found in the current folder,"
TERMS = 'rate = "none"\nledger = "ledger.db"\nsystems = "cpv"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    Path("in.csv").write_text("description\nroad works\n")


@pytest.mark.parametrize("name", ["base-url", "base_url"])
@pytest.mark.parametrize(
    "command", [["run"], ["run", "--yes"], ["run", "--max-cost", "1"], ["plan"], ["plan", "--json"]]
)
def test_the_address_in_a_found_file_is_refused_before_anything_is_sent(
    service: Service,
    line: CommandLine,
    name: str,
    command: list[str],
    address: str,
) -> None:
    HERE.write_text(f'{name} = "{address}/api/"\nyes = true\n{TERMS}')
    assert line.run(*command, "in.csv") == 2
    assert service.asked == []
    assert not Path("ledger.db").exists()
    said = line.err
    assert f"{FOUND} names the paid service {address}," in said
    assert "comes from" not in said  # the message has named the file already
    for way in ("--config tender-pipeline.toml", "--base-url", "TENDER_PIPELINE_BASE_URL"):
        assert way in said


@pytest.mark.parametrize("way", ["option", "variable", "--config", "TENDER_PIPELINE_CONFIG"])
def test_an_address_that_a_person_named_is_used(
    service: Service, monkeypatch: pytest.MonkeyPatch, way: str, address: str, line: CommandLine
) -> None:
    more: list[str] = []
    HERE.write_text(f'base-url = "{address}"\n{TERMS}')
    match way:
        case "option":
            more = ["--base-url", address]
        case "variable":
            monkeypatch.setenv("TENDER_PIPELINE_BASE_URL", address)
        case "--config":
            more = ["--config", str(HERE)]
        case _:
            monkeypatch.setenv("TENDER_PIPELINE_CONFIG", str(HERE))
    assert line.run("run", "in.csv", *more) == 0
    assert service.asked == [("cpv", "road works")]


def test_evaluate_sends_nothing_where_a_found_file_says(
    service: Service, line: CommandLine, address: str
) -> None:
    Path("labelled.csv").write_text("description,code\nroad works,45233140\n")
    HERE.write_text(f'base-url = "{address}"\n{TERMS}')
    arguments = ["evaluate", "labelled.csv", "--system", "cpv"]
    assert line.run(*arguments) == 0
    assert service.asked == []
    assert address not in line.out


def test_the_file_of_the_key_in_a_found_file_is_not_read(
    service: Service, tmp_path: Path, line: CommandLine, address: str
) -> None:
    (tmp_path / "credentials").write_text("another-secret")
    HERE.write_text(f'api-key-file = "../credentials"\n{TERMS}')
    assert line.run("run", "in.csv", "--base-url", address) == 2
    said = line.err
    assert "names the file of the API key, '../credentials'" in said
    assert "--api-key-file or the variable TENDER_PIPELINE_API_KEY_FILE" in said
    key = tmp_path / "key"
    key.write_text(service.account.key)
    more = ["--base-url", address, "--api-key-file", str(key)]
    assert line.run("run", "in.csv", *more) == 0
    assert service.asked == [("cpv", "road works")]


@pytest.mark.parametrize(
    ("setting", "what", "instead"),
    [
        ('output = "../profile"\noutput-format = "csv"\noverwrite = true', "output", "--output"),
        ('output = "s3://bucket/out.csv"', "output", "--output"),
        ('report = "../r.html"', "report", "--report"),
        ('metrics-file = "../m.prom"', "metrics", "the variable TENDER_PIPELINE_METRICS_FILE"),
    ],
)
def test_nothing_is_written_outside_of_the_folder_for_a_found_file(
    tmp_path: Path, line: CommandLine, setting: str, what: str, instead: str
) -> None:
    (tmp_path / "profile").write_text("mine")
    HERE.write_text(f"{setting}\n")
    assert line.run("run", "in.csv") == 2
    said = line.err
    assert f"{FOUND} puts the {what} outside of it, at '" in said
    assert f"use {instead}" in said
    assert (tmp_path / "profile").read_text() == "mine"
    assert not [*tmp_path.glob("*.html"), *tmp_path.glob("*.prom")]
    if "profile" in setting:
        assert line.run("run", "in.csv", "--config", str(HERE)) == 0


def test_an_output_within_the_folder_is_written_for_a_found_file(line: CommandLine) -> None:
    HERE.write_text('output = "results/out.csv"\n')
    Path("results").mkdir()
    assert line.run("run", "in.csv") == 0


@pytest.mark.parametrize(("answer", "code"), [("n\n", 2), ("y\n", 0)])
def test_on_a_terminal_the_address_is_asked_for_even_with_yes(
    service: Service, answer: str, code: int, address: str
) -> None:
    HERE.write_text(f'base-url = "{address}"\n{TERMS}')
    done, shown = ran_on_terminal(["run", "in.csv", "--yes"], answer)
    shown = " ".join(shown.split())
    assert f"{FOUND} names the paid service {address}." in shown
    assert "Send the texts and your API key there? [y/N]" in shown
    assert done.returncode == code
    assert len(service.asked) == (code == 0)
