"""Costs are counted exactly, and the limits of cost and of rate hold."""

from __future__ import annotations

from .protection import Protection

PROTECTIONS = (
    # The budget.
    Protection(
        "what is under way is reserved",
        "total([self.spent, self._reserved, amount])",
        "total([self.spent, amount])",
        "tests/paid/test_pool.py::"
        "test_an_overshoot_is_reported_and_no_more_than_the_excess_of_what_was_under_way",
    ),
    Protection(
        "what is under way is reserved from the limit of a day",
        "if total([self._reserved, amount]) > allowance.left",
        "if amount > allowance.left",
        "tests/paid/test_limits.py::test_two_jobs_at_once_share_the_limit",
    ),
    Protection(
        "the limit of several files counts what earlier runs paid for later files",
        "spent = [before.cost_usd for before in earlier]",
        "spent = [ZERO for before in earlier]",
        "tests/paid/test_several_files.py::test_what_later_files_have_cost_counts_towards_the_limit",
    ),
    Protection(
        "a job that a run works on is not closed",
        "_take_locks(path, jobs.values(), (), wait)",
        "_take_locks(path, (), (), wait)",
        "tests/cli/ledger/test_show.py::test_a_job_under_way_is_listed_and_cannot_be_closed",
    ),
    Protection(
        "the limit of a day counts what other jobs spent",
        "allowance.charge(spent.confirmed, spent.at_risk)",
        "pass",
        "tests/paid/test_limits.py::test_the_limit_is_used_up_and_the_next_day_goes_on",
    ),
    Protection(
        "a clock that ran ahead for a while does not free the limit of a day",
        "        if not self.began_at.timestamp() <= self._now() < self.ends_at.timestamp():\n",
        "        if self._now() >= self.ends_at.timestamp():\n",
        "tests/paid/test_limits.py"
        "::test_what_was_spent_while_the_clock_was_wrong_counts_and_what_was_spent_before",
    ),
    Protection(
        "a clock that was behind for a while does not free the limit of a day",
        "latest = max([self.began_at, *self._spent])",
        "latest = self.began_at",
        "tests/paid/test_limits.py"
        "::test_what_was_spent_while_the_clock_was_wrong_counts_and_what_was_spent_before",
    ),
    Protection(
        "the limit of a day counts what this job spends",
        "allowance.charge(confirmed, at_risk)",
        "pass",
        "tests/paid/test_limits.py::test_no_day_costs_more_than_its_limit_over_jobs_and_kills",
    ),
    Protection(
        "the limit of a day counts what may have been billed",
        "allowance.charge(confirmed, at_risk)",
        "allowance.charge(confirmed)",
        "tests/paid/test_limits.py::test_a_run_says_which_limit_stops_it_and_for_how_long",
    ),
    Protection(
        "an attempt reserves the highest price, or the typical one",
        "self.highest = max(highest or ZERO, typical)",
        "self.highest = highest or typical",
        "tests/paid/test_limits.py::"
        "test_an_attempt_reserves_the_highest_price_seen_or_the_typical_one",
    ),
    Protection(
        "a plan's highest cost is what its calls reserve",
        "high = max(high, usual[1])",
        "pass",
        "tests/paid/test_purchase.py::test_a_cost_limit_at_the_plans_highest_figure_completes",
    ),
    Protection(
        "one that is dearer than its reservation lets nobody through",
        "self._overrun = self._overrun or confirmed > reserved",
        "self._overrun = False",
        "tests/paid/test_limits.py::test_an_overrun_lets_nobody_through_until_everything_has_ended",
    ),
    Protection(
        "an unknown price keeps its reservation",
        "self.at_risk = total([self.at_risk, at_risk])",
        "pass",
        "tests/paid/test_limits.py::test_an_unknown_price_keeps_its_reservation",
    ),
    Protection(
        "responses that cannot be read are not bought without end",
        'understood = end.state in ("answered", "refused") and',
        'understood = end.state in ("answered", "refused", "unreadable") and',
        "tests/paid/test_pool.py::test_a_run_parks_when_more_than_single_texts_fail",
    ),
    Protection(
        "a wrong base URL does not use up the texts of the table",
        "may_be_right = self.is_address_right or end.status not in NO_SUCH_ADDRESS",
        "may_be_right = True",
        "tests/paid/test_pool.py::test_a_run_parks_when_more_than_single_texts_fail",
    ),
    Protection(
        "amounts do not depend on the caller's decimal context",
        "return _EXACT.multiply(amount, count)",
        "return amount * count",
        "tests/paid/test_from_python.py::test_the_callers_decimal_context_changes_no_amount",
    ),
    Protection(
        "a price that the ledger would not accept again is not written",
        "(amount if is_storable(amount) else IN_PARQUET.normalize(exact))",
        "amount",
        "tests/paid/client/test_prices.py::test_every_price_is_an_amount_that_the_ledger_accepts",
    ),
    Protection(
        "an error that states a price counts as paid",
        "if price.cost == 0 or (price.cost is None and not price.wrong):",
        "if True:",
        "tests/paid/test_hostile_answers.py::"
        "test_an_error_that_was_billed_counts_as_paid_and_is_bought_twice_at_most",
    ),
    Protection(
        "a part of 0 does not explain a price by its rounding",
        "if not amount or not isinstance(exponent, int):",
        "if not isinstance(exponent, int):",
        "tests/paid/client/test_prices.py::"
        "test_a_stated_price_that_cannot_be_used_is_reported_with_what_was_paid_for",
    ),
    Protection(
        "a call whose errors were paid is held in later jobs",
        "state IN ('sent', 'unconfirmed') OR state = 'billed' AND resolved_at IS NULL)",
        "state IN ('sent', 'unconfirmed'))",
        "tests/paid/test_hostile_answers.py::"
        "test_an_error_that_was_billed_counts_as_paid_and_is_bought_twice_at_most",
    ),
    Protection(
        "an attempt is settled once",
        'state = \'billed\' AND resolved_at IS NULL)\n"""',
        'state = \'billed\')\n"""',
        "tests/paid/ledger/test_maintenance.py::test_a_call_that_billed_errors_hold_is_bought_again",
    ),
    Protection(
        "a refusal that was paid is paid once more at most",
        "                case _ if lost >= order.losses:\n                    break\n",
        '                case "lost" if lost >= order.losses:\n                    break\n',
        "tests/paid/test_hostile_answers.py::"
        "test_an_error_that_was_billed_counts_as_paid_and_is_bought_twice_at_most",
    ),
    Protection(
        "an answer that is whole is not bought again because its connection broke",
        "return self._salvaged_response(exchange) or failed",
        "return failed",
        "tests/paid/client/test_lost_answers.py::"
        "test_an_answer_that_is_whole_counts_although_its_connection_breaks_or_never_ends",
    ),
    Protection(
        "an answer that is whole is not bought again because its server never ends it",
        "return self._salvaged_response(exchange) or failed",
        'return failed if error == "TIMEOUT" else self._salvaged_response(exchange) or failed',
        "tests/paid/client/test_lost_answers.py::"
        "test_an_answer_that_is_whole_counts_although_its_connection_breaks_or_never_ends",
    ),
    Protection(
        "a refusal that is cut off is at risk if its body may state a price",
        'return status in REFUSALS and b"{" not in body',
        "return status in REFUSALS",
        "tests/paid/client/test_lost_answers.py::"
        "test_a_refusal_without_an_end_is_free_unless_its_body_may_say_otherwise",
    ),
    Protection(
        "an absurd price parks",
        "if price is not None and price > self.max_price:",
        "if False and price:",
        "tests/paid/test_pool.py::test_an_absurd_price_is_recorded_as_it_is_and_parks",
    ),
    Protection(
        "a price that cannot be used parks",
        'cost_usd=None), "price", detail)',
        'cost_usd=None), "answered", detail)',
        "tests/paid/test_pool.py::test_a_price_that_cannot_be_used_parks_and_is_unknown",
    ),
    Protection(
        "a price that is stated twice is not believed",
        "if name in fields.get(REPEATED, ()):",
        "if False:",
        "tests/paid/client/test_prices.py::test_what_states_a_price_twice_states_none",
    ),
    Protection(
        "a price that contradicts its parts is not believed",
        "if final is not None and not (_can_be(final, parts, base) or "
        "_are_rounded(final, base, markup)):",
        "if False:",
        "tests/paid/client/test_prices.py::"
        "test_a_stated_price_that_cannot_be_used_is_reported_with_what_was_paid_for",
    ),
    Protection(
        "an unknown cost is no 0",
        "return None if None in stated and not known else known",
        "return known",
        "tests/paid/test_again.py::test_unknown_costs_are_empty_in_csv_and_counted",
    ),
    Protection(
        "a call's cost stands in one row alone",
        "offset = -1 if row is None else row - first",
        "offset = digests.index(digest)",
        "tests/paid/test_matcher.py::test_dropped_answers_are_read_again_without_their_cost",
    ),
    # The limit.
    Protection(
        "slots that the run before took are still held",
        "busy_until=busy_until,",
        "busy_until=[],",
        "tests/paid/test_purchase.py::test_the_demo_limit_parks_and_the_next_run_remembers_it",
    ),
    Protection(
        "what a refusal taught outlives the run",
        "            slots=max(1, refusal.slots) if refusal else None,\n"
        "            paused_until=clock + pause if refusal else None,\n",
        "",
        "tests/paid/test_resume.py::test_slots_and_pause_are_those_that_were_learned",
    ),
    Protection(
        "a run with a wrong clock does not forget a pause",
        "return min(self.at, now) + self.pause - now",
        "return self.at + self.pause - now if self.at <= now else 0.0",
        "tests/paid/test_resume.py::test_a_run_with_a_wrong_clock_forgets_no_pause",
    ),
    Protection(
        "no attempt counts as ended later than now",
        "return now if self.settled_at is None else min(self.settled_at, now)",
        "return now if self.settled_at is None else self.settled_at",
        "tests/paid/test_resume.py::test_a_clock_that_ran_ahead_frees_no_slot",
    ),
    Protection(
        "a lost attempt holds its slot: it may still arrive",
        'self._throttle._end(self, "lost")',
        'self._throttle._end(self, "unsent")',
        "tests/paid/client/test_throttle.py::"
        "test_an_attempt_left_by_an_error_or_cancelled_may_still_arrive",
    ),
    Protection(
        "an answered attempt holds its slot for a window",
        "return at + self.hold\n",
        "return at\n",
        "tests/paid/client/test_throttle.py::test_how_an_attempt_ends_says_when_its_slot_is_free",
    ),
    Protection(
        "a free demo call does not make plans with a key cheaper",
        "(state = 'refused' OR account = 'demo')",
        "(state = 'refused')",
        "tests/paid/ledger/test_ledger.py::"
        "test_a_refusal_or_a_demo_call_that_was_free_says_nothing_of_prices",
    ),
    Protection(
        "the next run reserves what an error cost",
        "    WHERE endpoint = ? AND cost_usd IS NOT NULL AND resolved_at IS NULL\n",
        "    WHERE endpoint = ? AND cost_usd IS NOT NULL AND state != 'billed'\n",
        "tests/paid/ledger/test_maintenance.py::"
        "test_a_price_that_an_error_stated_counts_as_one_of_the_service_and_a_settled_one_does_not",
    ),
)
