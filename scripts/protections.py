"""The protections that `check_protections` takes away, each with the test that must miss it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PROTECTIONS", "Protection"]


@dataclass(frozen=True)
class Protection:
    """Something that keeps a promise.

    Attributes:
        name: what it does.
        intact: its source, which stands in the package once.
        without: what stands there when it is gone.
        test: the one that must fail then, as pytest names it.
    """

    name: str
    intact: str
    without: str
    test: str


PROTECTIONS = (
    # Nothing is paid twice or lost.
    Protection(
        "a service is not sent to processes that would buy for themselves",
        'raise SettingsError("A PaidService cannot be sent to another process.", ONE_BUYER)',
        "return object.__reduce_ex__(self, 2)",
        "tests/paid/test_service.py::test_a_service_is_not_sent_to_another_process",
    ),
    Protection(
        "a Spark executor does not buy",
        "        _check_not_on_executor()\n",
        "",
        "tests/paid/test_service.py::test_a_service_is_refused_on_a_spark_executor",
    ),
    Protection(
        "a value that the output cannot hold is found before anything is bought",
        "                check_csv(batch)\n",
        "                pass\n",
        "tests/paid/test_before_buying.py::"
        "test_a_value_that_only_its_own_format_can_hold_is_refused_before_anything_is_bought",
    ),
    Protection(
        "text columns without words are told before anything is bought",
        "        warn(warning)\n",
        "        pass\n",
        "tests/classification/test_text_columns.py",
    ),
    Protection(
        "an empty path is not the current folder, whose tables would all be bought",
        'if value == "":',
        "if False:",
        "tests/cli/test_run.py::test_wrong_usage_exits_with_2_and_says_what_to_do",
    ),
    Protection(
        "an attempt is written down before it is sent",
        """\
        attempt = await self._recorded(call, slot, reserved)
        if attempt is None:
            return None
        try:
            reply = await self._client.send(call.system, call.text)
""",
        """\
        reply = await self._client.send(call.system, call.text)
        attempt = await self._recorded(call, slot, reserved)
        if attempt is None:
            return None
        try:
""",
        "tests/paid/test_write_ahead.py",
    ),
    Protection(
        "every commit is synced",
        """\
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")""",
        '        connection.execute("PRAGMA synchronous = OFF")',
        "tests/paid/test_write_ahead.py",
    ),
    Protection(
        "an attempt that a crash left open may have been billed",
        "            self._ledger.recover(service.key_fingerprint)\n",
        "",
        "tests/paid/test_after_a_crash.py",
    ),
    Protection(
        "time in which the process was stopped does not count towards a timeout",
        "self._ran += self._beat if passed > self._beat + STOPPED else passed",
        "self._ran += passed",
        "tests/paid/client/test_deadlines.py",
    ),
    Protection(
        "what arrived while the process was stopped is read before it is given up",
        "        limit = _Limit(self._open)\n",
        "        limit = _Limit(self._open)\n"
        "        asyncio.get_running_loop().call_later(self._seconds, limit.expire)\n",
        "tests/paid/client/test_deadlines.py",
    ),
    Protection(
        "calls under way are not spread out once more",
        "return self._remaining - self._under_way",
        "return self._remaining",
        "tests/paid/test_tracking.py::test_a_job_that_fits_into_the_limit_is_not_spread",
    ),
    Protection(
        "one buyer for each key",
        "            buyer_lock(service.base_url, service.key_fingerprint, service.wait),\n",
        "",
        "tests/paid/test_locks.py",
    ),
    Protection(
        "one buyer for each ledger",
        "            ledger_lock(service.ledger, service.base_url, service.wait),\n",
        "",
        "tests/paid/test_locks.py",
    ),
    Protection(
        "one run for each job",
        "opened.enter_context(lock)",
        "pass",
        "tests/paid/test_purchase.py::test_two_runs_of_one_job_do_not_disturb_each_other",
    ),
    Protection(
        "the lock of a job stands beside the ledger",
        'return file.with_name(f"{file.name}.locks")',
        "from pipeline.files.directories import state_folder; return state_folder() / 'locks'",
        "tests/paid/test_locks.py"
        "::test_two_state_folders_on_one_ledger_are_no_way_around_the_lock_of_a_job",
    ),
    Protection(
        "nothing is sent for a ledger that was moved or deleted",
        "refusal = database.lost or self._no_room",
        "refusal = self._no_room",
        "tests/paid/test_moved_ledger.py",
    ),
    Protection(
        "a ledger that is gone since the last run is not replaced by an empty one",
        "            check_not_gone(path)\n            path.parent.mkdir",
        "            path.parent.mkdir",
        "tests/paid/test_moved_ledger.py",
    ),
    Protection(
        "a ledger that is gone at the end of a purchase is noticed",
        """\
                finally:
                    self._ledger.check_place()
""",
        """\
                finally:
                    pass
""",
        "tests/paid/test_moved_ledger.py",
    ),
    Protection(
        "a run begins only if the disk has room for its answers",
        "self._ledger.check_room(service.most_attempts(estimate.to_buy), service.workers)",
        "pass",
        "tests/paid/test_full_disk.py::test_a_run_that_the_disk_has_no_room_for_sends_nothing",
    ),
    Protection(
        "space in reserve takes the last answers of a disk that filled up",
        "        if self._reserve.release():\n",
        "        if False:\n",
        "tests/paid/test_full_disk.py::test_the_reserve_is_given_up_before_anybody_waits",
    ),
    Protection(
        "answers that cannot be written wait",
        "        elif await self._patience.outlasts(error, len(ends)):\n",
        "        elif False:\n",
        "tests/paid/test_full_disk.py::test_answers_wait_in_memory_until_there_is_room",
    ),
    Protection(
        "until one answer is understood calls go one at a time",
        "            if self._understood or self.parked:\n",
        "            if True:\n",
        "tests/paid/test_pool.py::test_until_one_call_is_understood_they_go_one_at_a_time",
    ),
    Protection(
        "money in the ledger is an amount or an error",
        "            self._ledger.check_usable()\n",
        "",
        "tests/paid/ledger/test_usable.py::test_every_command_refuses_it",
    ),
    # The budget.
    Protection(
        "what is under way is reserved",
        "needed = total([self._reserved, amount])",
        "needed = amount",
        "tests/paid/test_budget.py::test_any_overshoot_is_at_most_the_excess_of_what_was_in_flight",
    ),
    Protection(
        "the limit of several files counts what earlier runs paid for later files",
        "spent = [before.cost_usd for before in earlier]",
        "spent = [ZERO for before in earlier]",
        "tests/paid/test_several_files.py::test_what_later_files_have_cost_counts_towards_the_limit",
    ),
    Protection(
        "a job that a run works on is not closed",
        "_locked(path, jobs.values(), (), wait)",
        "_locked(path, (), (), wait)",
        "tests/cli/ledger/test_show.py::test_a_job_under_way_is_listed_and_cannot_be_closed",
    ),
    Protection(
        "the limit of a day counts what other jobs spent",
        "allowance.charge(spent.confirmed, spent.at_risk)",
        "pass",
        "tests/paid/test_allowance.py::test_the_limit_is_used_up_and_the_next_day_goes_on",
    ),
    Protection(
        "the limit of a day counts what this job spends",
        "self._charge_allowances(reserved, cost)",
        "pass",
        "tests/paid/test_allowance.py::test_no_day_costs_more_than_its_limit_over_jobs_and_kills",
    ),
    Protection(
        "the limit of a day counts what may have been billed",
        "                each.charge(at_risk=reserved)\n",
        "                pass\n",
        "tests/paid/test_allowance.py::test_what_may_have_been_billed_counts",
    ),
    Protection(
        "an attempt reserves the highest price, or the typical one",
        "    return max(highest or ZERO, TYPICAL_HIGH)\n",
        "    return highest or TYPICAL_HIGH\n",
        "tests/paid/test_budget.py::"
        "test_an_attempt_reserves_the_highest_price_seen_or_the_typical_one",
    ),
    Protection(
        "a plan's highest cost is what its calls reserve",
        "high = dearest(prices.high if prices else None)",
        "high = prices.high if prices else dearest(None)",
        "tests/paid/test_purchase.py::test_a_cost_limit_at_the_plans_highest_figure_completes",
    ),
    Protection(
        "one that is dearer than its reservation lets nobody through",
        "self._overrun = self._overrun or cost > reserved",
        "self._overrun = False",
        "tests/paid/test_budget.py::"
        "test_an_overrun_lets_nobody_through_until_everything_has_settled",
    ),
    Protection(
        "an unknown price keeps its reservation",
        "self.at_risk = total([self.at_risk, reserved])",
        "pass",
        "tests/paid/test_budget.py::test_an_unknown_price_keeps_its_reservation",
    ),
    Protection(
        "responses that cannot be read are not bought without end",
        'understood = judgement.settlement.state in ("answered", "refused")',
        'understood = judgement.settlement.state in ("answered", "refused", "unreadable")',
        "tests/paid/test_pool.py::test_answers_that_nobody_can_read_are_not_bought_without_end",
    ),
    Protection(
        "amounts do not depend on the caller's decimal context",
        "return _EXACT.multiply(amount, count)",
        "return amount * count",
        "tests/paid/test_decimal_context.py",
    ),
    Protection(
        "a price that the ledger would not accept again is not written",
        "(amount if is_storable(amount) else IN_PARQUET.normalize(exact))",
        "amount",
        "tests/paid/client/test_prices.py::test_every_price_is_an_amount_that_the_ledger_accepts",
    ),
    Protection(
        "an error that states a price counts as paid",
        "if not price.wrong and not price.cost:",
        "if True:",
        "tests/paid/test_hostile_answers.py::"
        "test_an_error_that_was_billed_counts_as_paid_and_is_bought_twice_at_most",
    ),
    Protection(
        "a part of 0 does not explain a price by its rounding",
        "if amount and isinstance(exponent, int) else ZERO",
        "if isinstance(exponent, int) else ZERO",
        "tests/paid/client/test_prices.py::"
        "test_a_stated_price_that_cannot_be_used_is_told_with_what_was_paid_for",
    ),
    Protection(
        "a call whose errors were paid is held in later jobs",
        " OR state = 'billed' AND resolved_at IS NULL)",
        ")",
        "tests/paid/test_hostile_answers.py::"
        "test_an_error_that_was_billed_counts_as_paid_and_is_bought_twice_at_most",
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
        "if isinstance(error, BrokenResponseError) or not is_whole(plain(bytes(content))):",
        "if True:",
        "tests/paid/client/test_lost_answers.py::"
        "test_an_answer_that_is_whole_counts_although_the_connection_breaks_before_its_end",
    ),
    Protection(
        "an absurd price parks",
        "if price is not None and price > self._max_price:",
        "if False and price:",
        "tests/paid/test_pool_prices.py::test_an_absurd_price_is_recorded_as_it_is_and_parks",
    ),
    Protection(
        "a price that cannot be used parks",
        'return Judgement(settlement, "price", detail)',
        'return Judgement(settlement, "answered", detail)',
        "tests/paid/test_pool_prices.py::test_a_price_that_cannot_be_used_parks_and_is_unknown",
    ),
    Protection(
        "a price that contradicts its parts is not believed",
        "    if final is not None and not rounded and not _can_be(final, parts, base):\n",
        "    if False:\n",
        "tests/paid/client/test_prices.py::"
        "test_a_stated_price_that_cannot_be_used_is_told_with_what_was_paid_for",
    ),
    Protection(
        "an unknown cost is no 0",
        "return None if None in stated and not known else known",
        "return known",
        "tests/paid/test_unknown_costs.py",
    ),
    Protection(
        "a call's cost stands in one row alone",
        "            if row == first + place:\n",
        "            if True:\n",
        "tests/paid/test_matcher.py::test_dropped_answers_are_read_again_without_their_cost",
    ),
    # The limit.
    Protection(
        "slots that the run before took are still held",
        "busy_until=[end - now + clock for end in _slot_ends(attempts, service.limit, now)],",
        "busy_until=[],",
        "tests/paid/test_parked_purchase.py::test_the_demo_limit_parks_and_the_next_run_remembers_it",
    ),
    Protection(
        "what a refusal taught outlives the run",
        "        slots=max(1, lesson.slots) if lesson else None,\n"
        "        paused_until=clock + pause if lesson else None,\n",
        "",
        "tests/paid/test_resume.py::test_slots_and_pause_are_those_that_were_learned",
    ),
    Protection(
        "slots that a run with another ledger took are still held",
        "found = [*ledger.attempts_since(service.key_fingerprint, since), *limits.attempts()]",
        "found = ledger.attempts_since(service.key_fingerprint, since)",
        "tests/paid/test_one_limit.py",
    ),
    Protection(
        "no attempt counts as ended later than now",
        "return now if self.settled_at is None else min(self.settled_at, now)",
        "return now if self.settled_at is None else self.settled_at",
        "tests/paid/test_one_limit.py",
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
    # The table.
    Protection(
        "an output is put in its place at once",
        "self.temporary.replace(self.place)",
        "self.place.write_bytes(self.temporary.read_bytes())",
        "tests/classification/test_sink.py::test_who_has_the_old_output_open_reads_it_to_its_end",
    ),
    Protection(
        "an output is on the disk before it is put in its place",
        "os.fsync(descriptor)",
        "pass",
        "tests/classification/test_sink.py::test_output_and_manifest_are_synced_before_they_are_in_place",
    ),
    Protection(
        "an input that changes meanwhile gives no output",
        "if source.reader.fingerprint() != source.reader.opened_fingerprint:",
        "if False:",
        "tests/classification/test_job_output.py::test_an_input_that_changes_meanwhile_gives_no_output",
    ),
    Protection(
        "a file that this tool did not write is kept",
        "if not is_ours:",
        "if False:",
        "tests/classification/test_job_output.py::test_an_output_that_somebody_changed_is_kept",
    ),
    Protection(
        "a sample takes the place of no full table",
        "if full_by_sample:",
        "if False:",
        "tests/cli/test_samples.py::test_a_sample_in_the_place_of_a_full_table_wants_overwrite",
    ),
    Protection(
        "an object that changes while it is read gives no output",
        "if self.version(path) != version:",
        "if False:",
        "tests/cli/clouds/test_stores.py::test_an_object_that_changes_or_vanishes_while_it_is_read_is_an_error",
    ),
    Protection(
        "an object that somebody else wrote meanwhile is kept",
        "if old.storage.version(old.path) != old.version:",
        "if False:",
        "tests/cli/clouds/test_objects.py::test_an_output_that_somebody_else_wrote_meanwhile_is_kept",
    ),
    Protection(
        "a place in a bucket is tried before anything is bought",
        "self.storage.write(mine, manifest_path(self.path))",
        "pass",
        "tests/cli/clouds/test_stores.py::test_a_store_that_refuses_is_a_clear_error_before_anything_is_bought",
    ),
    Protection(
        "standard output is sent nothing of a table that fails",
        "temporary = Path(folder) / name",
        'temporary = Path("/dev/stdout")',
        "tests/cli/test_standard_streams.py::test_what_fails_in_the_middle_of_writing_sends_nothing",
    ),
    Protection(
        "one writer for each output",
        "fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "pass",
        "tests/classification/test_job_output.py::test_two_runs_do_not_write_one_output_at_once",
    ),
    Protection(
        "a text of the service is no formula",
        """return f"'{seen}" if FORMULA.match(seen) else seen""",
        "return seen",
        "tests/tables/test_cells.py::"
        "test_a_text_of_ours_that_a_spreadsheet_would_compute_has_an_apostrophe",
    ),
    Protection(
        "a text of the service commands no terminal",
        """seen = value if value.isprintable() else UNSEEN.sub(" ", value)""",
        "seen = value",
        "tests/tables/test_cells.py::test_a_control_character_in_a_text_of_ours_becomes_a_space",
    ),
    Protection(
        "a damaged column is an error and no crash",
        "            _check_columns(file)\n",
        "",
        "tests/tables/test_hostile_tables.py::"
        "test_damage_anywhere_in_a_footer_is_an_error_and_no_crash",
    ),
    # What comes over the network.
    Protection(
        "a redirect that comes through a proxy is not followed",
        "allow_redirects=False",
        "allow_redirects=True",
        "tests/paid/client/test_transport.py::"
        "test_a_redirect_that_comes_through_a_proxy_is_not_followed",
    ),
    Protection(
        "a connection with something unread is not used again",
        "return self._reusable and not self._ended and not self._got",
        "return self._reusable and not self._ended",
        "tests/paid/client/test_connection.py::"
        "test_another_connection_follows_a_response_that_ends_it",
    ),
    Protection(
        "a connection whose request was not sent to the end is not used again",
        "return not self._transport.get_write_buffer_size()",
        "return True",
        "tests/paid/client/test_connection.py::"
        "test_a_connection_whose_request_was_not_read_is_not_used_again",
    ),
    Protection(
        "no connection is kept to a server that often closes idle ones",
        "if not connection.reusable or self._hung_up * FEWEST_REUSED > self._reused:",
        "if not connection.reusable:",
        "tests/paid/client/test_connection.py::"
        "test_connections_are_kept_unless_the_server_often_closes_them",
    ),
    Protection(
        "bare line feeds end the head of a response",
        r're.compile(rb"\n\r?\n")',
        r're.compile(rb"\r\n\r\n")',
        "tests/paid/client/test_connection.py::test_a_complete_response_leaves_its_connection_open",
    ),
    Protection(
        "an error of one worker does not cancel the calls of others",
        "except Exception as error:  # whichever it is, it must not cancel calls that are billed",
        "except PipelineError as error:",
        "tests/paid/test_pool.py::test_an_error_of_one_worker_does_not_lose_the_answers_of_others",
    ),
    Protection(
        "no more than so much of a body is read",
        "if len(content) > self._max_body:",
        "if False:",
        "tests/paid/client/test_large_answers.py::test_a_huge_body_is_cut_off_and_its_connection_closed",
    ),
    Protection(
        "a compressed body is unpacked only as far as it is read",
        "found += packing.decompress(content, most - len(found))",
        "found += packing.decompress(content)",
        "tests/paid/client/test_large_answers.py::test_what_is_compressed_is_unpacked_once_and_in_little_memory",
    ),
    # The key.
    Protection(
        "the key is blotted out of responses",
        'content = content.replace(form, b"*" * len(form))',
        "pass",
        "tests/paid/client/test_client.py::test_the_key_stands_in_no_repr_log_or_reply",
    ),
    Protection(
        "a settings file that was only found sends the key nowhere",
        '    if in_file("base_url"):\n',
        "    if False:\n",
        "tests/paid/test_found_file.py::"
        "test_the_address_in_a_found_file_is_refused_before_anything_is_sent",
    ),
    Protection(
        "a settings file that was only found makes no secret of another file",
        'if address and (key_file := in_file("api_key_file")):',
        "if False:",
        "tests/paid/test_found_file.py::test_the_file_of_the_key_in_a_found_file_is_not_read",
    ),
    Protection(
        "settings do not show the key",
        "api_key: str = field(repr=False)",
        "api_key: str",
        "tests/test_secrets.py::"
        "test_an_error_that_nobody_expected_even_where_local_variables_are_shown",
    ),
    # The accounts of the service.
    Protection(
        "balance, entry and use change together",
        "with sqlite_files.transaction(self._writer):\n                yield self._writer",
        "if True:\n                yield self._writer",
        "tests/service/accounts/test_statement.py::test_balance_entry_and_use_are_one_or_nothing",
    ),
    Protection(
        "a charge is within the balance",
        """\
        covered.append(left >= ZERO)
        if left >= ZERO:
""",
        """\
        covered.append(True)
        if True:
""",
        "tests/service/accounts/test_statement.py::test_a_balance_may_end_at_zero_and_not_below",
    ),
    Protection(
        "keys and tokens are kept as hashes",
        """return sha256(secret.encode("utf-8", "surrogatepass")).digest()""",
        """return secret.encode("utf-8", "surrogatepass")""",
        "tests/service/accounts/test_accounts.py::"
        "test_passwords_are_hashed_with_argon2_and_stand_nowhere",
    ),
    Protection(
        "a revoked key is nobody's",
        "WHERE key_hash = ? AND revoked_at IS NULL",
        "WHERE key_hash = ?",
        "tests/service/accounts/test_keys.py::test_a_revoked_key_is_nobodys_from_then_on",
    ),
    Protection(
        "nobody revokes the key of another",
        "WHERE key_id = ? AND account_id = ? AND revoked_at IS NULL",
        "WHERE key_id = ? AND ? AND revoked_at IS NULL",
        "tests/service/accounts/test_keys.py::test_nobody_revokes_or_rotates_the_key_of_another",
    ),
    Protection(
        "a password is not shown while it is typed",
        "hide_input=True",
        "hide_input=False",
        "tests/cli/accounts/test_open.py::"
        "test_a_password_is_asked_for_twice_on_a_terminal_and_never_shown",
    ),
    Protection(
        "what somebody typed does nothing to a terminal",
        'one if one.isprintable() else " " for one in text or ""',
        'one for one in text or ""',
        "tests/cli/accounts/test_looking.py::test_what_somebody_typed_on_a_page_does_nothing_to_a_terminal",
    ),
    Protection(
        "serve makes no folder whose name may be mistyped",
        "        _check_folder(folder)\n",
        "        pass\n",
        "tests/service/test_serve.py::test_a_folder_that_is_named_and_not_there_is_not_made",
    ),
    Protection(
        "no command but open makes a folder",
        "if not make and not is_there(folder / service.accounts.FILE):",
        "if False:",
        "tests/cli/accounts/test_any_command.py::test_no_command_but_open_makes_a_folder",
    ),
    Protection(
        "a text in a statement is no formula however its line is split",
        """return INNER_FORMULA.sub(r"\\1'", cell(""",
        """return str(cell(""",
        "tests/service/accounts/test_statement_csv.py::"
        "test_names_and_notes_are_texts_however_a_line_is_split",
    ),
    # The service among people.
    Protection(
        "a data folder has one service",
        "        lock.acquire(blocking=False)\n    except Timeout:\n        raise SettingsError(",
        "        pass\n    except Timeout:\n        raise SettingsError(",
        "tests/service/test_lifecycle.py::"
        "test_a_folder_has_one_service_and_commands_work_beside_it",
    ),
    Protection(
        "nobody says where a request comes from unless trusted",
        "forwarded_allow_ips=[str(network) for network in trusted_proxies]",
        "forwarded_allow_ips=None",
        "tests/service/test_server.py::test_nobody_is_trusted_unless_named",
    ),
    Protection(
        "an encoded slash leads past no proxy's guard",
        'return str(scope["path"]) if marked == raw else unquote(marked)',
        'return str(scope["path"])',
        "tests/service/test_failures.py::test_an_unknown_path_has_the_envelope",
    ),
    Protection(
        "a house has one limit, however many addresses",
        "return str(IPv6Address(int(parsed) >> NETWORK_BITS << NETWORK_BITS))",
        "return str(parsed)",
        "tests/service/test_limits.py::test_an_ipv6_address_counts_for_its_network",
    ),
    Protection(
        "callers are forgotten when their window is over",
        "                return\n            del self._taken[caller]",
        "                return\n            return",
        "tests/service/test_limits.py::test_callers_that_stay_away_are_forgotten",
    ),
    Protection(
        "the log does not quote errors",
        'cause = f"{kind}: {error}" if isinstance(error, TELLING) else kind',
        'cause = f"{kind}: {error}"',
        "tests/service/test_access_log.py::test_no_line_has_what_people_send",
    ),
    Protection(
        "the log has no path that a caller made up",
        'getattr(self.scope.get("route"), "path", None)',
        'self.scope["path"]',
        "tests/service/test_access_log.py::test_no_line_has_what_people_send",
    ),
    Protection(
        "a request that comes too slowly is broken off",
        "elif self._deadline is None:",
        "elif False:",
        "tests/service/test_connections.py::test_a_request_that_comes_too_slowly_is_broken_off",
    ),
    # What the service charges.
    Protection(
        "charges that are committed together share one balance",
        "            balances[dues[0].account_id] = left\n",
        "",
        "tests/service/accounts/test_statement.py::test_a_balance_may_end_at_zero_and_not_below",
    ),
    Protection(
        "a batch of queries is charged whole or not at all",
        "        if not await self._charging.result(dues):\n",
        "        if not all([await self._charging.result([due]) for due in dues]):\n",
        "tests/service/reconcile/test_limits.py::"
        "test_a_balance_that_does_not_cover_a_batch_pays_for_none_of_it",
    ),
    Protection(
        "a request counts for the limit before it is answered",
        """\
        calls.count(holder, request.client.host if request.client else "")
        description = description_in(await body_of(request))
        answered = await calls.answer(holder, system, description)
""",
        """\
        description = description_in(await body_of(request))
        answered = await calls.answer(holder, system, description)
        calls.count(holder, request.client.host if request.client else "")
""",
        "tests/service/test_charges.py::test_a_request_that_is_not_valid_counts_but_costs_nothing",
    ),
    Protection(
        "an account has one limit, however many keys",
        "self._key_limit.wait(holder.account_id, calls)",
        "self._key_limit.wait(holder.key_id, calls)",
        "tests/service/test_app.py::"
        "test_an_account_has_100_requests_a_minute_whatever_its_key_and_address",
    ),
    # The pages.
    Protection(
        "a form that no browser says is ours is refused",
        'request.headers.get("Referer", "")',
        "f\"http://{request.headers.get('Host')}\"",
        "tests/service/web/test_csrf.py::test_a_form_that_does_not_say_where_it_is_from_is_refused",
    ),
    Protection(
        "a form that a browser says another site sent is refused",
        "            check_origin(request)\n",
        "",
        "tests/service/web/test_csrf.py::test_a_form_from_another_site_is_refused",
    ),
    Protection(
        "logging out ends the session, not the cookie alone",
        """\
        await run_in_threadpool(site.accounts.sessions.end, visitor.session)
        visitor.end()
""",
        """\
        visitor.end()
""",
        "tests/service/web/test_authentication.py::"
        "test_logging_out_ends_the_session_wherever_its_cookie_is",
    ),
    Protection(
        "a session ends by itself",
        "WHERE token_hash = ? AND ends_at > ?",
        "WHERE token_hash = ? AND ?",
        "tests/service/accounts/test_sessions.py::test_a_session_ends_by_itself",
    ),
    Protection(
        "a new password ends every session",
        "            delete_sessions(connection, account)\n\n    def find(",
        "\n    def find(",
        "tests/service/accounts/test_accounts.py::"
        "test_a_new_password_ends_the_old_one_and_every_session",
    ),
    Protection(
        "no script reads a cookie",
        "            httponly=True,\n",
        "",
        "tests/service/web/test_cookies.py::"
        "test_cookies_are_out_of_reach_of_scripts_and_other_sites",
    ),
    Protection(
        "logging in sends on to no other site",
        "return path if path in PLACES else HOME",
        "return path or HOME",
        "tests/service/web/test_authentication.py::test_nobody_is_sent_on_to_anywhere_else",
    ),
    Protection(
        "an address guesses a password only so often",
        '((self._pair, f"{name} {network}"), (self._address, network))',
        "((self._address, network),)",
        "tests/service/web/test_authentication.py::test_who_guesses_is_locked_out_and_nobody_else",
    ),
    Protection(
        "an address guesses the passwords of all accounts only so often",
        '((self._pair, f"{name} {network}"), (self._address, network))',
        '((self._pair, f"{name} {network}"),)',
        "tests/service/web/test_guessing.py::test_an_address_is_bounded_over_all_accounts",
    ),
    Protection(
        "guessing locks nobody else out",
        '(self._pair, f"{name} {network}")',
        "(self._pair, name)",
        "tests/service/web/test_authentication.py::test_who_guesses_is_locked_out_and_nobody_else",
    ),
    Protection(
        "an account is guessed at only so often, whoever does it",
        "if self._account.wait(name):",
        "if False:",
        "tests/service/web/test_guessing.py::test_guessing_is_bounded_from_however_many_addresses",
    ),
    Protection(
        "every response has the security headers",
        "    app.add_middleware(SecurityHeaders)\n    app.add_middleware(EncodedSlashes)",
        "    app.add_middleware(EncodedSlashes)",
        "tests/service/web/test_headers.py::test_every_response_says_what_browsers_may_do_with_it",
    ),
    Protection(
        "what is shown is escaped",
        "autoescape=True,",
        "autoescape=False,",
        "tests/service/web/test_hostile_texts.py",
    ),
)
