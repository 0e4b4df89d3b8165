"""What a script says, and that the same seed lets the same requests be struck."""

from __future__ import annotations

from collections import Counter
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import SYSTEMS, System
from pipeline.errors import SettingsError
from pipeline.service.chaos.faults import Dice, Fault, Script, read_script


def struck(script: Script, requests: int, system: System = "cpv") -> list[str]:
    """Return what strikes so many requests, a second apart."""
    dice = Dice(script)
    faults = [dice.throw(system, float(second))[1] for second in range(requests)]
    return [fault.kind if fault else "" for fault in faults]


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "faults.toml"
    path.write_text(text, "utf-8", "surrogateescape")
    return path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x =", "not TOML: Invalid value"),
        ("\udcff", "not TOML: "),
        ('seed = "a"', "seed: Expected `int`, got `str`"),
        ("[[fault]]", "fault 1: Object missing required field `kind`"),
        ('[[fault]]\nkind = "stahl"', "fault 1: Its kind must be one of latency, drop-before,"),
        ('[[fault]]\nkind = "cut"\n[[fault]]\nkind = "stall"', "fault 2: The kind stall needs sec"),
        ('[[fault]]\nkind = "cut"\nsecond = 1', "fault 1: Object contains unknown field `second`"),
        ('[[fault]]\nkind = "cut"\nseconds = 1', "fault 1: The kind cut has no setting seconds"),
        ('[[fault]]\nkind = "cut"\nprobability = 2', "fault 1 probability: Expected `float` <= 1"),
        ('[[fault]]\nkind = "cut"\nprobability = 1\nrequests = [1]', "fault 1: Give a probabil"),
        ('[[fault]]\nkind = "cut"\nrequests = [0]', "requests[0]: Expected `int` >= 1"),
        ('[[fault]]\nkind = "cut"\nafter = 9\nuntil = 9', "until must be later than after"),
        ('[[fault]]\nkind = "cut"\nsystems = ["cvp"]', "systems[0]: Invalid enum value 'cvp'"),
        ('[[fault]]\nkind = "gateway"\nstatus = 503', "503 means that nothing was done"),
        ('[[fault]]\nkind = "garbage"\nform = "blue"', "form: Invalid enum value 'blue'"),
    ],
)
def test_a_bad_file_is_refused_with_the_place_of_what_is_wrong(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(SettingsError) as refusal:
        read_script(written(tmp_path, text))
    assert said in refusal.value.message
    assert "rehearse-faults" in refusal.value.hint


def test_a_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        read_script(tmp_path / "faults.toml")


@given(seed=st.integers(), probability=st.floats(0, 1), requests=st.integers(0, 200))
def test_the_same_seed_strikes_the_same_places(
    seed: int, probability: float, requests: int
) -> None:
    script = Script(
        seed=seed,
        fault=(
            Fault("cut", probability=probability),
            Fault("drop-after", probability=probability, burst=2),
        ),
    )
    first = struck(script, requests)
    assert struck(script, requests) == first
    assert struck(script, requests + 50)[:requests] == first


def test_other_seeds_strike_other_places_as_often_as_they_should() -> None:
    fault = (Fault("cut", probability=0.3),)
    nights = [tuple(struck(Script(seed=seed, fault=fault), 2000)) for seed in range(5)]
    assert len(set(nights)) == 5
    assert all(480 < Counter(night)["cut"] < 720 for night in nights)


def test_places_count_the_requests_of_the_faults_systems() -> None:
    dice = Dice(Script(fault=(Fault("cut", requests=(2,), systems=("psc",)),)))
    asked: list[System] = ["cpv", "psc", "cpv", "psc", "psc"]
    assert [dice.throw(system, 0.0)[1] is not None for system in asked] == [
        False,
        False,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        # A burst strikes neighbours, and another that begins meanwhile ends later.
        ([Fault("cut", requests=(2, 3, 7), burst=3)], " cut cut cut cut  cut cut cut  "),
        ([Fault("cut", after=2, until=4)], "  cut cut  "),
        ([Fault("cut", requests=())], "   "),
        # Of two faults the first counts.
        (
            [Fault("cut", requests=(1, 2)), Fault("drop-before", requests=(2, 3, 4))],
            "cut cut drop-before drop-before ",
        ),
    ],
)
def test_a_fault_strikes_where_it_should(faults: list[Fault], expected: str) -> None:
    kinds = expected.split(" ")
    assert struck(Script(fault=tuple(faults)), len(kinds)) == kinds


def test_latencies_add_up_beside_another_fault() -> None:
    script = Script(
        seed=1,
        fault=(
            Fault("latency", seconds=1),
            Fault("latency", jitter=2),
            Fault("cut"),
            Fault("stall", seconds=1),
        ),
    )
    throws = [Dice(script).throw(system, 0.0) for system in SYSTEMS for _ in range(20)]
    assert {fault.kind for _, fault in throws if fault} == {"cut"}
    assert all(1 <= delay <= 3 for delay, _ in throws)
    assert Dice(Script()).throw("cpv", inf)[0] == 0


def test_a_fault_says_what_was_set() -> None:
    assert str(Fault("cut")) == "cut: every request"
    assert str(Fault("refuse", retry_after="date", requests=(2, 5))) == (
        "refuse: requests 2 5, retry-after date"
    )
