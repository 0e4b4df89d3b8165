"""What a protection is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Protection:
    """A piece of source that keeps a promise, and the test that fails without it.

    Attributes:
        name: the promise.
        intact: the piece of source, which occurs exactly once in the package.
        without: what takes its place when the protection is removed.
        test: the test that must then fail, as pytest names it: a file, or a test in it.
    """

    name: str
    intact: str
    without: str
    test: str
