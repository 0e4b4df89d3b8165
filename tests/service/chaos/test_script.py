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
from pipeline.service.chaos.kinds import KINDS, Cut, DropAfter, DropBefore, Latency, Refuse, Stall
from pipeline.service.chaos.script import Dice, Script, read_script


def struck(script: Script, requests: int, system: System = "cpv") -> list[str]:
    """Return what strikes so many requests, a second apart."""
    dice = Dice(script)
    throws = [dice.throw(system, float(second)) for second in range(requests)]
    return [throw.fault.kind if throw.fault else "" for throw in throws]


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "faults.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_file_says_what_python_can_say(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        seed = 7

        [[fault]]
        kind = "refuse"
        retry-after = "date"
        seconds = 3
        requests = [2, 5]
        systems = ["cpv", "psc"]

        [[fault]]
        kind = "stall"
        seconds = 90
        probability = 0.25
        after = 1.5
        until = 60
        most = 4
        burst = 3
        """,
    )
    expected = Script(
        seed=7,
        fault=(
            Refuse(retry_after="date", seconds=3, requests=(2, 5), systems=("cpv", "psc")),
            Stall(seconds=90, probability=0.25, after=1.5, until=60, most=4, burst=3),
        ),
    )
    assert read_script(path) == expected


def test_every_kind_can_be_written(tmp_path: Path) -> None:
    text = "".join(f'[[fault]]\nkind = "{kind.model_fields["kind"].default}"\n' for kind in KINDS)
    text = text.replace('"stall"\n', '"stall"\nseconds = 1\n')
    text = text.replace('"drip"\n', '"drip"\nseconds = 1\n')
    assert tuple(map(type, read_script(written(tmp_path, text)).fault)) == KINDS


def test_a_seed_that_is_not_given_is_drawn() -> None:
    assert len({Script().seed for _ in range(20)}) > 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x =", "not TOML: Invalid value"),
        ("x = 1", "x: there is no such setting"),
        ('seed = "a"', "seed: Input should be a valid integer"),
        ("fault = 1", "fault: it must be a list"),
        ("fault = [1]", "fault 1: it must be a table"),
        ("[[fault]]", "fault 1: its kind must be one of latency, drop-before,"),
        ('[[fault]]\nkind = "stahl"', "fault 1: its kind must be one of latency, drop-before,"),
        ('[[fault]]\nkind = "cut"\n[[fault]]\nkind = "stall"', "fault 2 (stall), seconds: it is m"),
        ('[[fault]]\nkind = "cut"\nsecond = 1', "fault 1 (cut), second: there is no such setting"),
        ('[[fault]]\nkind = "cut"\nprobability = 2', "probability: Input should be less"),
        ('[[fault]]\nkind = "cut"\nprobability = nan', "probability: Input should be"),
        (
            '[[fault]]\nkind = "cut"\nprobability = 1\nrequests = [1]',
            "1 (cut): give a probabil",
        ),
        ('[[fault]]\nkind = "cut"\nrequests = [0]', "requests, 0: Input should be greater than 0"),
        ('[[fault]]\nkind = "cut"\nafter = 9\nuntil = 9', "until must be later than after"),
        ('[[fault]]\nkind = "cut"\nsystems = ["cvp"]', "systems, 0: Input should be 'cpv', 'psc'"),
        ('[[fault]]\nkind = "gateway"\nstatus = 503', "503 means that nothing was done"),
        ('[[fault]]\nkind = "error"\nstatus = 404', "status: Input should be greater"),
        ('[[fault]]\nkind = "garbage"\nform = "blue"', "form: Input should be 'absurd-cost'"),
    ],
)
def test_a_bad_file_is_refused_with_the_place_of_what_is_wrong(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(SettingsError) as refusal:
        read_script(written(tmp_path, text))
    assert said in refusal.value.message
    assert "rehearse-faults" in refusal.value.hint


def test_a_file_that_is_missing_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file") as refusal:
        read_script(tmp_path / "nowhere.toml")
    assert refusal.value.hint == "Give --faults a TOML file."
    path = tmp_path / "faults.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(SettingsError, match="not TOML"):
        read_script(path)


@given(seed=st.integers(), probability=st.floats(0, 1), requests=st.integers(0, 200))
def test_the_same_seed_strikes_the_same_places(
    seed: int, probability: float, requests: int
) -> None:
    script = Script(
        seed=seed,
        fault=(Cut(probability=probability), DropAfter(probability=probability, burst=2)),
    )
    first = struck(script, requests)
    assert struck(script, requests) == first
    assert struck(script, requests + 50)[:requests] == first


def test_other_seeds_strike_other_places_as_often_as_they_should() -> None:
    fault = (Cut(probability=0.3),)
    nights = [tuple(struck(Script(seed=seed, fault=fault), 2000)) for seed in range(5)]
    assert len(set(nights)) == 5
    assert all(480 < Counter(night)["cut"] < 720 for night in nights)


def test_places_count_the_requests_of_the_faults_systems() -> None:
    dice = Dice(Script(fault=(Cut(requests=(2,), systems=("psc",)),)))
    asked: list[System] = ["cpv", "psc", "cpv", "psc", "psc"]
    assert [dice.throw(system, 0.0).fault is not None for system in asked] == [
        False,
        False,
        False,
        True,
        False,
    ]


def test_no_places_are_none_at_all(tmp_path: Path) -> None:
    script = read_script(written(tmp_path, '[[fault]]\nkind = "cut"\nrequests = []'))
    assert struck(script, 3) == ["", "", ""]


def test_a_burst_strikes_neighbours_and_counts_once() -> None:
    script = Script(fault=(Cut(requests=(2, 6, 9), burst=3, most=2),))
    assert struck(script, 10) == ["", "cut", "cut", "cut", "", "cut", "cut", "cut", "", ""]


def test_a_fault_strikes_within_its_time() -> None:
    assert struck(Script(fault=(Cut(after=2, until=4),)), 6) == ["", "", "cut", "cut", "", ""]


def test_of_two_faults_the_first_counts_and_the_other_does_not_use_itself_up() -> None:
    script = Script(fault=(Cut(requests=(1, 2)), DropBefore(most=2)))
    assert struck(script, 5) == ["cut", "cut", "drop-before", "drop-before", ""]


def test_latencies_add_up_beside_another_fault() -> None:
    script = Script(seed=1, fault=(Latency(seconds=1), Latency(jitter=2), Cut(), Stall(seconds=1)))
    throws = [Dice(script).throw(system, 0.0) for system in SYSTEMS for _ in range(20)]
    assert {type(throw.fault) for throw in throws} == {Cut}
    assert all(1 <= throw.delay <= 3 for throw in throws)
    assert Dice(Script()).throw("cpv", inf).delay == 0


def test_a_fault_says_what_was_set() -> None:
    assert str(Cut()) == "cut: every request"
    assert str(Refuse(retry_after="date", requests=(2, 5))) == (
        "refuse: requests 2 5, retry-after date"
    )
    assert str(Cut(requests=tuple(range(1, 101)))) == "cut: requests 1 2 3 4 5 6 7 8 and 92 more"
