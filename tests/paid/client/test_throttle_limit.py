"""The limit holds at the server in every window, and is used up to the last slot."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest
from aiolimiter import AsyncLimiter
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.paid.client.throttle import Throttle
from pipeline.rate import AUTHENTICATED, DEMO, Rate
from tests.paid.client.simulated_job import (
    ORDINARY,
    Make,
    Play,
    SlidingWindow,
    Story,
)


@settings(max_examples=300, derandomize=True)
@given(
    story=st.builds(
        Story,
        rate=st.builds(Rate, st.integers(1, 12), st.sampled_from([0.5, 6.0, 60.0])),
        calls=st.integers(1, 200),
        workers=st.integers(1, 20),
        burst=st.booleans(),
        slowest=st.sampled_from([0.0, 0.1, 1.0, 20.0]),
        timeout=st.sampled_from([1.0, 5.0, 30.0]),
        losses=st.sampled_from([0.0, 0.1, 0.5]),
        refusals=st.sampled_from([0.0, 0.05, 0.3]),
        unsent=st.sampled_from([0.0, 0.2]),
        crashes=st.lists(st.floats(0.1, 200.0), max_size=3).map(tuple),
        downtime=st.sampled_from([0.0, 1.0, 30.0]),
        seed=st.integers(0, 2**32),
    ),
    clock=st.sampled_from([0.9991, 1.0, 1.0009]),
)
def test_no_window_of_the_server_sees_more_than_the_limit(story: Story, clock: float) -> None:
    played = Play(story)
    assert played.crowded(clock) == 0
    assert played.left == 0


class Told(AbstractContextManager["Told", None]):
    """Takes no notice."""

    def __exit__(self, *_: object) -> None: ...

    def answered(self) -> None: ...
    def refused(self, retry_after: float | None = None) -> None: ...
    def unsent(self) -> None: ...


class Hasty(Rate):
    """A rate by which a lost attempt cannot arrive late."""

    def lost_until(self, at: float) -> float:
        return self.answered_until(at)


class Plain:
    """aiolimiter alone."""

    def __init__(self, attempts: float, seconds: float) -> None:
        self._limiter = AsyncLimiter(attempts, seconds)

    async def slot(self, remaining: Callable[[], int] | None = None) -> Told:
        await self._limiter.acquire()
        return Told()


@pytest.mark.parametrize(
    ("story", "make"),
    [
        pytest.param(ORDINARY, lambda story, seeds: Plain(100, 60), id="a bucket alone"),
        pytest.param(ORDINARY, lambda story, seeds: Plain(1, 0.6), id="even pacing alone"),
        pytest.param(
            replace(ORDINARY, losses=0.3, burst=True, workers=100),
            lambda story, seeds: Throttle(Hasty(100, 60.0), burst=True),
            id="late arrivals not waited for",
        ),
        pytest.param(
            replace(ORDINARY, crashes=(30.0,), burst=True),
            lambda story, seeds: Throttle(story.rate, burst=True),
            id="a restart that forgets",
        ),
        pytest.param(
            ORDINARY, lambda story, seeds: Throttle(Rate(101, 60.0), burst=True), id="one too many"
        ),
        pytest.param(
            replace(ORDINARY, slowest=0.0),
            lambda story, seeds: Throttle(Rate(100, 59.9), burst=True),
            id="a window too short",
        ),
    ],
)
def test_the_property_can_fail(story: Story, make: Make) -> None:
    assert Play(story).crowded() == 0
    assert Play(story, make).crowded() > 0


@pytest.fixture(scope="module")
def hour() -> Play:
    """A little more than an hour at half a second from sending to response, on average."""
    return Play(replace(ORDINARY, calls=6100))


def test_an_hour_uses_the_limit_and_draws_no_refusal(hour: Play) -> None:
    server = SlidingWindow(AUTHENTICATED)
    assert all(server.admits(arrival) for arrival in hour.arrivals)
    start = hour.arrivals[0]
    assert sum(arrival < start + 3600 for arrival in hour.arrivals) >= 0.97 * 6000


def test_the_server_sees_an_even_stream(hour: Play) -> None:
    tenth_of_a_window = [
        last - first for first, last in zip(hour.arrivals, hour.arrivals[13:], strict=False)
    ]
    assert min(tenth_of_a_window) > 6.0


def test_as_many_demo_calls_as_slots_go_at_once() -> None:
    story = Story(rate=DEMO, calls=10, workers=4)
    assert Play(story).arrivals[-1] < 1010
    more = Play(replace(story, calls=11)).arrivals
    assert more[0] < 1001 and more[1] > 1360


def test_a_burst_finishes_a_short_job_sooner() -> None:
    story = replace(ORDINARY, calls=150)
    paced, burst = Play(story), Play(replace(story, burst=True))
    assert burst.arrivals[-1] < 1000 + 63 < 1000 + 89 < paced.arrivals[-1]
