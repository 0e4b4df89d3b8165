from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.rate import Rate
from pipeline.service.limits import SOON, SlidingWindow, network_of
from tests.service.conftest import VirtualClock, virtual_limits


def test_several_requests_are_taken_together_or_not_at_all(clock: VirtualClock) -> None:
    window = SlidingWindow(Rate(5, 60))
    assert window.wait("a", 3) == 0
    clock.now += 20
    assert window.wait("a", 2) == 0
    assert window.wait("a", 4) == 60  # the last two must be gone, too
    assert window.wait("a", 3) == 40
    clock.now += 40 + SOON
    assert window.wait("a", 3) == 0


def test_callers_that_stay_away_are_forgotten(clock: VirtualClock) -> None:
    window = SlidingWindow(Rate(2, 60))
    for caller in range(500):
        window.wait(caller)
        window.wait("always there")
        clock.now += 1
    assert len(window._taken) == 62  # a minute of them, and one more


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::"),
        ("2001:db8:1:3::1", "2001:db8:1:3::"),
        ("fe80::1%eth0", "fe80::"),
        ("::1", "::"),
        ("unknown", ""),
        ("", ""),
    ],
)
def test_an_ipv6_address_counts_for_its_network(address: str, network: str) -> None:
    assert network_of(address) == network


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from("ab")), max_size=80),
)
def test_no_window_takes_more_than_the_rate_and_none_less(
    requests: int, arrivals: list[tuple[int, str]]
) -> None:
    clock = VirtualClock()
    with virtual_limits(clock):
        window = SlidingWindow(Rate(requests, 60))
        taken: dict[str, list[float]] = {"a": [], "b": []}
        for pause, caller in arrivals:
            clock.now += pause
            recent = [at for at in taken[caller] if at >= clock.now - 60]
            wait = window.wait(caller)
            assert (wait == 0) == (len(recent) < requests)
            if wait == 0:
                taken[caller].append(clock.now)
            else:
                assert wait == max(SOON, recent[0] + 60 - clock.now)
