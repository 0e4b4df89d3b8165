"""The policy of `PasswordTries`, on a virtual clock."""

from __future__ import annotations

import anyio
import pytest

from pipeline.service.web.forms import FormError
from pipeline.service.web.site import ACCOUNT, ADDRESS, PAIR, PasswordTries
from tests.service.conftest import VirtualClock

pytestmark = pytest.mark.anyio

OWNER, HOME, RIGHT = "buyer@example.org", "192.0.2.1", 1


@pytest.fixture
def tries(clock: VirtualClock) -> PasswordTries:
    return PasswordTries()


async def looked_at(
    tries: PasswordTries, address: str, found: int | None = None, email: str = OWNER
) -> int:
    """Try a password; return the seconds to wait if it was not looked at, else 0."""

    async def look() -> int | None:
        return found

    try:
        assert await tries.account(email, address, look) == found
    except FormError as error:
        return error.wait
    return 0


async def test_right_passwords_do_not_count_and_do_not_make_up_for_wrong_ones(
    tries: PasswordTries,
) -> None:
    for _ in range(PAIR.slots - 1):
        assert await looked_at(tries, HOME) == 0
    for _ in range(3 * ADDRESS.slots):
        assert await looked_at(tries, HOME, RIGHT) == 0
    assert await looked_at(tries, HOME) == 0
    assert await looked_at(tries, HOME) == 900


async def test_many_at_once_are_not_one(tries: PasswordTries) -> None:
    waits = []

    async def guess() -> None:
        waits.append(await looked_at(tries, HOME))

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(guess)
    assert sorted(waits) == [0] * PAIR.slots + [900] * (50 - PAIR.slots)


async def test_a_look_that_fails_does_not_count(tries: PasswordTries) -> None:
    async def look() -> int | None:
        raise OSError("the disk")

    for _ in range(PAIR.slots + 1):
        with pytest.raises(OSError, match="the disk"):
            await tries.account(OWNER, HOME, look)
    assert await looked_at(tries, HOME) == 0


async def test_an_address_is_bounded_over_all_accounts(tries: PasswordTries) -> None:
    for number in range(ADDRESS.slots):
        assert await looked_at(tries, "198.51.100.1", email=f"{number}@example.org") == 0
    assert await looked_at(tries, "198.51.100.1", email="more@example.org") == 900
    assert await looked_at(tries, HOME, email="more@example.org") == 0


async def test_guessing_is_bounded_from_however_many_addresses_and_locks_no_owner_out(
    tries: PasswordTries, clock: VirtualClock
) -> None:
    addresses = [f"198.51.100.{number}" for number in range(ACCOUNT.slots // PAIR.slots)]
    for address in addresses * PAIR.slots:
        assert await looked_at(tries, address) == 0
    assert [await looked_at(tries, address) for address in addresses] == [900] * len(addresses)
    elsewhere = "2001:db8::1"
    assert [await looked_at(tries, elsewhere) for _ in range(3)] == [0, 900, 900]
    assert [await looked_at(tries, HOME, RIGHT) for _ in range(3)] == [0, 0, 0]
    assert await looked_at(tries, elsewhere, email="other@example.org") == 0
    clock.now += 901
    assert await looked_at(tries, elsewhere) == 0
