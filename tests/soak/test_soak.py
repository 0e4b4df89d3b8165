"""The short form of the soak; ``python -m benchmarks.soak`` is the long one."""

from __future__ import annotations

import secrets
from pathlib import Path

from pipeline.rate import Rate
from pipeline.service.chaos.faults import FORMS, KINDS, read_script
from tests.soak.night import Night, Plan, toml
from tests.soak.script import PARKING, soak_script
from tests.soak.verdict import lines, verdict


def test_a_night_of_faults_and_kills_loses_nothing_and_pays_for_nothing_twice(
    tmp_path: Path,
) -> None:
    seed = secrets.randbelow(1_000_000)
    plan = Plan(calls=200, kills=4, seed=seed, rate=Rate(60, 4.0), timeout=2.0)
    print(f"to repeat it: {plan.command}")
    night = Night(plan, tmp_path)
    night.pass_by()
    assert len(night.kills) == plan.kills
    figures = verdict(night)
    print(lines(figures))
    assert figures["attempts"]["unconfirmed"] > 0
    assert figures["attempts"]["answered"] > 150
    faults = figures["requests by fault"]
    struck = {fault.split()[0] for fault in faults}
    assert struck >= KINDS.keys() - {"latency"}
    assert {f"garbage {form}" for form in FORMS if form not in PARKING} <= set(faults)


def test_the_same_seed_gives_the_same_faults_by_way_of_a_file(tmp_path: Path) -> None:
    rate = Rate(60, 4.0)
    script = soak_script(7, 240, 2.0, rate)
    path = tmp_path / "night.toml"
    path.write_text(toml(script), "utf-8")
    assert read_script(path) == script == soak_script(7, 240, 2.0, rate)
    assert script != soak_script(8, 240, 2.0, rate)
