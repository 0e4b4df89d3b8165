from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.rate import Rate
from pipeline.service import SlidingWindow
from tests.service.conftest import VirtualClock


def test_a_request_is_taken_again_when_the_first_is_a_window_old(clock: VirtualClock) -> None:
    window = SlidingWindow(Rate(2, 60), clock)
    assert window.wait("a") == 0
    clock.now += 20
    assert window.wait("a") == 0
    assert window.wait("a") == 40
    clock.now += 39.5
    assert window.wait("a") == 0.5
    clock.now += 0.5
    assert window.wait("a") == 0
    assert window.wait("a") == 20


def test_refused_requests_do_not_count(clock: VirtualClock) -> None:
    window = SlidingWindow(Rate(1, 60), clock)
    assert window.wait("a") == 0
    for _ in range(5):
        clock.now += 10
        window.wait("a")
    clock.now += 10
    assert window.wait("a") == 0


def test_callers_do_not_share_a_window(clock: VirtualClock) -> None:
    window = SlidingWindow(Rate(1, 60), clock)
    assert [window.wait(caller) for caller in "abab"] == [0, 0, 60, 60]


def test_without_a_rate_everything_is_taken(clock: VirtualClock) -> None:
    window = SlidingWindow(None, clock)
    assert not any(window.wait("a") for _ in range(1000))


def test_callers_that_stay_away_are_forgotten(clock: VirtualClock) -> None:
    window = SlidingWindow(Rate(2, 60), clock)
    for caller in range(500):
        window.wait(caller)
        clock.now += 1
    assert len(window._taken) == 60


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from("ab")), max_size=80),
)
def test_no_window_takes_more_than_the_rate_and_none_less(
    requests: int, arrivals: list[tuple[int, str]]
) -> None:
    clock = VirtualClock()
    window = SlidingWindow(Rate(requests, 60), clock)
    taken: dict[str, list[float]] = {"a": [], "b": []}
    for pause, caller in arrivals:
        clock.now += pause
        recent = sum(at > clock.now - 60 for at in taken[caller])
        wait = window.wait(caller)
        assert (wait == 0) == (recent < requests)
        if wait == 0:
            taken[caller].append(clock.now)
