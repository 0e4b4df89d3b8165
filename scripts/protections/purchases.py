"""Nothing is paid twice, and no answer that was paid is lost."""

from __future__ import annotations

from .protection import Protection

PROTECTIONS = (
    Protection(
        "a system that is down is not asked for the rest of a run",
        "        self._stopping[system].set()\n",
        "",
        "tests/paid/test_system_down.py::test_the_others_are_bought_and_it_is_left_out_by_name",
    ),
    Protection(
        "a success that a proxy spoilt counts as paid, whatever its status",
        "if status not in WITHOUT_ANSWER or not isinstance(outcome, Unreadable):",
        "if status == 200 or not isinstance(outcome, Unreadable):",
        "tests/paid/client/test_responses.py::test_a_response_means",
    ),
    Protection(
        "a service is not sent to processes that would buy for themselves",
        'raise SettingsError("A PaidService cannot be sent to another process.", ONE_BUYER)',
        "return object.__reduce_ex__(self, 2)",
        "tests/paid/test_service.py::test_a_service_is_not_sent_to_another_process",
    ),
    Protection(
        "a notebook buys with the ledger of the command line",
        "os.environ.get(LEDGER_VARIABLE) or data_folder()",
        "data_folder()",
        "tests/paid/test_service.py::test_a_notebook_has_the_ledger_of_the_command_line",
    ),
    Protection(
        "a change of the working folder changes no ledger",
        "Path(value).absolute()  # a notebook may change its folder: it must not buy again",
        "Path(value)",
        "tests/paid/test_service.py::test_a_change_of_folder_changes_no_ledger",
    ),
    Protection(
        "a Spark executor does not buy",
        "        _check_not_on_executor()\n",
        "",
        "tests/paid/test_service.py::test_a_service_is_refused_on_a_spark_executor",
    ),
    Protection(
        "a value that the output cannot hold is found before anything is bought",
        "        check(batch, rows)\n",
        "        pass\n",
        "tests/paid/test_command_line.py::"
        "test_a_value_that_only_its_own_format_can_hold_is_refused_before_anything_is_bought",
    ),
    Protection(
        "text columns without words are told before anything is bought",
        "            self.reporter.warn(warning)\n",
        "            pass\n",
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
        attempt = await self._record_attempt(call, slot, reserved)
        if attempt is None:
            return None
        try:
            reply = await self._client.send(call.system, call.text, order.candidates)
""",
        """\
        reply = await self._client.send(call.system, call.text, order.candidates)
        attempt = await self._record_attempt(call, slot, reserved)
        if attempt is None:
            return None
        try:
""",
        "tests/paid/test_pool.py::test_every_attempt_is_committed_and_synced_before_it_is_sent",
    ),
    Protection(
        "every commit is synced",
        """\
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")""",
        '        connection.execute("PRAGMA synchronous = OFF")',
        "tests/paid/test_pool.py::test_every_attempt_is_committed_and_synced_before_it_is_sent",
    ),
    Protection(
        "an attempt that a crash left open may have been billed",
        "            self._ledger.recover(service.key_fingerprint)\n",
        "",
        "tests/paid/test_purchase.py::test_a_killed_run_pays_again_for_no_answer_that_it_received",
    ),
    Protection(
        "calls under way are not spread out once more",
        "return self._remaining - self._under_way",
        "return self._remaining",
        "tests/paid/test_runner.py::test_a_job_that_fits_into_the_limit_is_not_spread",
    ),
    Protection(
        "one buyer for each key",
        "            held.enter_context(buyer_lock(address, key, wait))\n",
        "",
        "tests/paid/test_purchase.py::test_while_another_run_holds_a_lock_nothing_is_sent",
    ),
    Protection(
        "one buyer for each ledger",
        "            held.enter_context(ledger_lock(service.ledger, address, wait))\n",
        "",
        "tests/paid/test_purchase.py::test_while_another_run_holds_a_lock_nothing_is_sent",
    ),
    Protection(
        "one run for each job",
        "opened.enter_context(lock)",
        "pass",
        "tests/paid/test_purchase.py::test_while_another_run_holds_a_lock_nothing_is_sent",
    ),
    Protection(
        "a ledger with two names, each with a log of its own, is not written",
        "if links > 1:",
        "if False:",
        "tests/paid/ledger/test_database.py::test_a_ledger_with_a_second_hard_link_is_refused",
    ),
    Protection(
        "the lock of a job stands beside the ledger",
        'return file.with_name(f"{file.name}.locks")',
        "from pipeline.files.paths import state_folder; return state_folder() / 'locks'",
        "tests/paid/test_purchase.py::test_while_another_run_holds_a_lock_nothing_is_sent",
    ),
    Protection(
        "nothing is sent for a ledger that was moved or deleted",
        "refusal = database.lost\n",
        "refusal = None\n",
        "tests/paid/test_ledger_trouble.py",
    ),
    Protection(
        "nothing is sent for a ledger whose log was deleted",
        "for end in LOG)]\n",
        "for end in ())]\n",
        "tests/paid/test_ledger_trouble.py"
        "::test_a_log_that_is_deleted_is_noticed_before_a_kill_could_lose_what_is_in_it",
    ),
    Protection(
        "what a reader keeps out of a ledger is not said to be in it",
        "            if not busy and is_file_at(*self._files[0]):\n",
        "            if is_file_at(*self._files[0]):\n",
        "tests/paid/test_ledger_trouble.py::test_what_a_reader_keeps_out_of_the_file_is_in_a_copy",
    ),
    Protection(
        "a ledger that is gone since the last run is not replaced by an empty one",
        "            check_writable(path)\n            path.parent.mkdir",
        "            path.parent.mkdir",
        "tests/paid/test_ledger_trouble.py",
    ),
    Protection(
        "a signal stops a purchase even while its thread starts",
        "    work = Work(lambda: context.run(_run, buying(stop_request)))\n",
        "    work = Work(lambda: context.run(_run, buying(stop_request)))\n    work.begin()\n",
        "tests/paid/test_runner.py::test_a_signal_while_the_thread_starts_stops_the_purchase",
    ),
    Protection(
        "a ledger is not closed while a purchase still uses it, however often it is interrupted",
        "            with suppress(BaseException):  # one more signal",
        "            with suppress():  # one more signal",
        "tests/paid/test_runner.py"
        "::test_no_number_of_signals_leaves_a_purchase_that_still_uses_the_ledger",
    ),
    Protection(
        "no new ledger is begun if an earlier output was bought with one",
        "        check_there(service.ledger, self._marks)\n",
        "",
        "tests/paid/test_ledger_of_an_output.py"
        "::test_an_output_tells_the_next_run_with_which_ledger_it_was_bought",
    ),
    Protection(
        "a run that parks at one service keeps the note about another one's ledger",
        "notes = {name: {**part_of(manifest, name), **part} for name, part in note.items()}",
        "notes = note",
        "tests/paid/test_ledger_of_an_output.py"
        "::test_runs_that_parked_at_two_services_name_the_ledger_of_each",
    ),
    Protection(
        "no older copy of the ledger is used after a run parked before it wrote its output",
        "        self._note_ledger()\n        return self._summary(RowCounts",
        "        return self._summary(RowCounts",
        "tests/paid/test_ledger_of_an_output.py"
        "::test_the_same_ledger_continues_a_run_that_parked_before_it_wrote_an_output",
    ),
    Protection(
        "no new ledger is begun if a run was killed before it wrote its output",
        "        begun()\n        await",
        "        await",
        "tests/paid/test_ledger_of_an_output.py"
        "::test_a_run_names_its_ledger_before_it_has_bought_much",
    ),
    Protection(
        "nothing is bought with another ledger than that of an earlier output",
        "        if not marked[1].is_in(ledger):\n",
        "        if False:\n",
        "tests/paid/test_ledger_of_an_output.py"
        "::test_an_output_tells_the_next_run_with_which_ledger_it_was_bought",
    ),
    Protection(
        "nothing is bought with an older copy of the ledger",
        "    high_water.check()\n",
        "",
        "tests/paid/test_ledger_trouble.py::test_an_older_copy_is_refused_until_the_newer_one_is_back",
    ),
    Protection(
        "a ledger that is gone at the end of a purchase is noticed",
        """\
                finally:
                    self._ledger.database.check_place()
""",
        """\
                finally:
                    pass
""",
        "tests/paid/test_ledger_trouble.py",
    ),
    Protection(
        "answers that a full disk keeps out of the ledger are kept beside it",
        '                append_durably(self._spare, msgspec.json.encode(line) + b"\\n")\n',
        "                pass\n",
        "tests/paid/test_ledger_trouble.py"
        "::test_a_disk_that_fills_up_parks_the_run_with_every_answer_written",
    ),
    Protection(
        "what was kept beside the ledger is taken in before its attempts count as lost",
        "if connection.execute(TAKE_IN, asdict(end)).rowcount and end.body is not None:",
        "if one.body is None:",
        "tests/paid/test_ledger_trouble.py"
        "::test_a_disk_that_fills_up_parks_the_run_with_every_answer_written",
    ),
    Protection(
        "what was kept beside the ledger is taken in before its calls count as held",
        "            take_in(self.database, self.spare)  # without it",
        "            pass  # without it",
        "tests/paid/test_ledger_trouble.py"
        "::test_an_answer_that_cannot_be_written_is_kept_beside_the_ledger",
    ),
    Protection(
        "what is kept beside a ledger answers no other attempt",
        " AND sent_at = :sent_at\n",
        "\n",
        "tests/paid/ledger/test_journal.py"
        "::test_a_line_that_is_torn_or_of_another_ledger_is_passed_over",
    ),
    Protection(
        "the disk has room for what is kept beside the ledger, whatever else fills it",
        'append_durably(file, b"\\n" * (workers * SPARE_PER_WORKER))',
        "pass",
        "tests/paid/test_ledger_trouble.py"
        "::test_a_disk_that_fills_up_parks_the_run_with_every_answer_written",
    ),
    Protection(
        "a thread that buys keeps its answers when the main thread has ended",
        "            return write()\n",
        "            raise\n",
        "tests/paid/ledger/test_journal.py"
        "::test_answers_are_kept_although_the_main_thread_has_ended",
    ),
    Protection(
        "an answer is kept although another run took its run for killed",
        "(state = 'sent' OR state = 'unconfirmed' AND error = '{INTERRUPTED}')",
        "state = 'sent'",
        "tests/paid/ledger/test_journal.py"
        "::test_an_answer_is_kept_although_another_run_took_this_one_for_killed",
    ),
    Protection(
        "until one answer is understood calls go one at a time",
        "while not self.progress.understood and",
        "while False and",
        "tests/paid/test_pool.py::test_until_one_call_is_understood_they_go_one_at_a_time",
    ),
    Protection(
        "what was bought since the estimate is not bought again",
        "WHERE NOT EXISTS (SELECT 1 {OF_CALL} {COUNTS})",
        "WHERE NOT EXISTS (SELECT 1 {OF_CALL} {COUNTS} AND 0)",
        "tests/paid/test_calls_to_buy.py::test_what_was_bought_since_the_estimate_is_not_bought_again",
    ),
    Protection(
        "money in the ledger is an amount or an error",
        "            check_usable(self._ledger.database)\n",
        "",
        "tests/paid/ledger/test_usable.py::test_every_command_refuses_it",
    ),
    Protection(
        "a refusal charged in another currency does not count as free",
        "    return WrongPrice(price.wrong, ended) if price.wrong else replace(",
        "    is_usd = not price.wrong.endswith('USD')\n"
        "    return WrongPrice(price.wrong, ended) if price.wrong and is_usd else replace(",
        "tests/paid/test_policy.py::test_each_way_to_end_has_its_consequence",
    ),
    Protection(
        "an answer with a price of a million decimal places is kept",
        "max(exponent, FARTHEST)",
        "exponent",
        "tests/paid/client/test_prices.py"
        "::test_a_stated_price_that_cannot_be_used_is_reported_with_what_was_paid_for",
    ),
    Protection(
        "an empty key is a mistake, and no demo whose answers nobody pays for",
        "    if not key:\n        raise SettingsError(\n",
        "    if not key:\n        return None\n        raise SettingsError(\n",
        "tests/paid/test_service.py::test_an_empty_key_is_a_mistake_and_not_a_demo",
    ),
    Protection(
        "a place in a bucket is tried before anything is bought",
        "self.storage.write(manifest, manifest_path(self.path))",
        "pass",
        "tests/cli/clouds/test_stores.py::test_a_store_that_refuses_is_a_clear_error_before_anything_is_bought",
    ),
    Protection(
        "no page, table or figures replace the ledger, the key or another input",
        "            if other is not None and _are_same(path, other):\n",
        "            if False:\n",
        "tests/cli/test_apart.py",
    ),
    Protection(
        "nothing replaces a ledger that the command does not name",
        "        if isinstance(path, Path) and _is_database(path):\n",
        "        if False:\n",
        "tests/cli/test_apart.py::test_a_model_or_a_settings_file_replaces_no_ledger_either",
    ),
    Protection(
        "no output of a Python call replaces the ledger or what it reads",
        "    _check_kept(given_path(data), path, request)\n",
        "",
        "tests/cli/test_apart.py::test_what_a_python_call_keeps_is_not_written_over",
    ),
)
