"""Three-way comparison for tests of money: the service's books, the ledger and the output."""

from tests.money_trail.books import (
    Attempt,
    Output,
    Service,
    read_attempts,
    read_jobs,
    read_output,
    read_service,
)
from tests.money_trail.cells import cells_are_right
from tests.money_trail.checks import (
    agree,
    billed_as_recorded,
    every_loss_is_explained,
    every_request_was_written_down,
    money_agrees,
    nothing_is_bought_twice,
    nothing_stays_under_way,
    prices_are_as_stated,
    the_limit_is_kept,
    totals_agree,
)
from tests.money_trail.statement import (
    columns_agree,
    statement_adds_up,
    statement_is_the_ledgers,
)
from tests.money_trail.trail import Pair, Trail, follow

__all__ = [
    "Attempt",
    "Output",
    "Pair",
    "Service",
    "Trail",
    "agree",
    "billed_as_recorded",
    "cells_are_right",
    "columns_agree",
    "every_loss_is_explained",
    "every_request_was_written_down",
    "follow",
    "money_agrees",
    "nothing_is_bought_twice",
    "nothing_stays_under_way",
    "prices_are_as_stated",
    "read_attempts",
    "read_jobs",
    "read_output",
    "read_service",
    "statement_adds_up",
    "statement_is_the_ledgers",
    "the_limit_is_kept",
    "totals_agree",
]
