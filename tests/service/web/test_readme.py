from __future__ import annotations

import re
from pathlib import Path

from pipeline.rate import Rate
from pipeline.service.accounts import LIFETIME
from pipeline.service.accounts.keys import MOST_KEYS
from pipeline.service.accounts.passwords import LONGEST, SHORTEST
from pipeline.service.web.guessing import ACCOUNT, ADDRESS, LINE, PAIR, PAUSE
from pipeline.service.web.site import SIGN_UP

README = Path(__file__).parents[3] / "README.md"


def told(rate: Rate) -> str:
    return f"{rate.slots} in {rate.window / 60:g} minutes"


def test_the_readme_has_the_limits_of_the_pages() -> None:
    section = README.read_text().partition("### The pages\n")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", section, re.M)
    assert rows == [
        ("what", "limit"),
        ("wrong passwords for an account from an address", told(PAIR)),
        ("wrong passwords from an address, for all accounts", told(ADDRESS)),
        (
            "wrong passwords for an account, from all addresses",
            f"{told(ACCOUNT)}, then one every {PAUSE:g} seconds",
        ),
        ("sign-ups from an address", told(SIGN_UP)),
        ("a session", f"{LIFETIME / 86400:g} days"),
        ("a password", f"{SHORTEST} to {LONGEST} characters"),
        ("API keys of an account", f"{MOST_KEYS} in use"),
    ]
    assert f"waits for at most {LINE:g} seconds" in " ".join(section.split())
