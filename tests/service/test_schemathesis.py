"""Schemathesis against the service's own description: every check, over real HTTP.

Its command runs in a process of its own, as people run it, and writes a report, which is judged
here. All checks are on. Of its phases one does not apply: no operation of the interface links to
another, so there is nothing stateful to walk through. More cases, by hand:

    SCHEMATHESIS_EXAMPLES=2500 python -m pytest tests/service/test_schemathesis.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pipeline.answers import SYSTEMS, Match, Matched, Matcher, System
from pipeline.codes.shipped import shipped
from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app, engine_matchers
from pipeline.service.http.messages import Metadata
from tests.conftest import table_of_unicode
from tests.service.conftest import Answering
from tests.service.sockets import serving

SEED = "6"

HOOKS = Path(__file__).with_name("schemathesis_hooks.py")

ENDPOINTS = [f"POST /api/{system}/match" for system in SYSTEMS]


def drawn(system: System) -> Matcher:
    """Return a matcher that draws up to ten codes of a table, the same for the same text."""
    titles = list(shipped(system).titles.items())

    def draw(text: str) -> Matched:
        chance = Random(text)
        codes = chance.sample(titles, chance.randint(0, 10))
        sure = sorted((round(chance.random(), 4) for _ in codes), reverse=True)
        return Matched(tuple(Match(*code, at) for code, at in zip(codes, sure, strict=True)))

    return Answering(system, draw)


def examined(folder: Path, place: tuple[str, int], examples: int, key: str | None) -> Any:
    """Let schemathesis loose on a service; return its report, which has no failure.

    It makes up at most so many cases for each operation and mode.
    """
    # Left to itself it would take any 401, 404 or 5xx for a valid request, but never a 402.
    settings = f'hooks = "{HOOKS}"\n[checks.positive_data_acceptance]\nexpected-statuses = [200]\n'
    (folder / "schemathesis.toml").write_text(settings, "utf-8")
    path, url = folder / "report.json", "http://{}:{}/openapi.json".format(*place)
    table_of_unicode()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", url),
            *("--checks", "all", "--mode", "all", "--continue-on-failure", "--no-color"),
            *("--max-examples", os.environ.get("SCHEMATHESIS_EXAMPLES") or str(examples)),
            *("--seed", SEED, "--report", "json", "--report-json-path", str(path)),
            # How fast the machine is decides nothing.
            *("--suppress-health-check", "too_slow", "--request-timeout", "60"),
            # The folder is thrown away: keeping the best cases there takes a third of the time.
            *("--generation-database", "none"),
            *(("--header", f"X-API-Key: {key}") if key else ()),
        ],
        cwd=folder,  # where it looks for settings and keeps what it made up
        env=os.environ | {"NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(path.read_text("utf-8"))


@pytest.mark.parametrize(
    ("metadata", "engine", "keyed", "examples", "at_least"),
    [
        pytest.param("detailed", False, True, 221, 900, id="detailed"),
        pytest.param("mixed", False, False, 111, 450, id="mixed without a key"),
        pytest.param("compact", True, True, 61, 250, id="compact by the engine"),
    ],
)
def test_all_checks_hold_for_whatever_is_sent(
    accounts: Accounts,
    tmp_path: Path,
    metadata: Metadata,
    engine: bool,
    keyed: bool,
    examples: int,
    at_least: int,
) -> None:
    account = accounts.open(Decimal(1_000))
    matchers = engine_matchers() if engine else {system: drawn(system) for system in SYSTEMS}
    app = create_app(accounts, matchers, metadata=metadata, key_rate=None, demo_rate=None)
    with serving(app) as place:
        report = examined(tmp_path, place, examples, account.key if keyed else None)
    assert report["complete"] is True and report["failures"] == report["errors"] == []
    assert report["operations"]["tested"] == len(ENDPOINTS) + 1
    done = {name for name, phase in report["phases"].items() if phase["status"] == "success"}
    assert done == {"examples", "coverage", "fuzzing"}
    assert report["test_cases"]["generated"] >= at_least
    for endpoint in ENDPOINTS:  # enough that the description allows were answered
        assert sum(each["accepted"] for each in report["valid_rates"][endpoint].values()) >= 20
    assert [kind for kind, said in report["warnings"].items() if said] == []
    charged = len(accounts.statement.charges())
    assert (charged > 80) if keyed else (charged == 0)
