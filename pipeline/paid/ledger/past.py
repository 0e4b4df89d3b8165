"""What a run must know of those before it, to keep the limit across restarts."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.paid.ledger.calls import State

__all__ = ["Lesson", "PastAttempt"]


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """When an account sent a request, seconds since 1970.

    Attributes:
        sent_at: when it was written down, just before it was sent.
        settled_at: when its end was written down; None while it is under way.
        state: how it ended, whatever a user has said of it since.
        number: what it is called in its ledger.
    """

    sent_at: float
    settled_at: float | None
    state: State
    number: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a refusal for the limit taught; the times are seconds since 1970.

    Attributes:
        slots: how many of the limit's slots stayed in use.
        paused_until: until when nothing was to be sent.
        learned_at: when it was written down.
    """

    slots: int
    paused_until: float
    learned_at: float
