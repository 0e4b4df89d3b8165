"""The accounts of the service, what it charges, and whom it believes."""

from __future__ import annotations

from .protection import Protection

PROTECTIONS = (
    # The accounts of the service.
    Protection(
        "balance, entry and use change together",
        "with self._writer as connection:",
        "if connection := self._writer:",
        "tests/service/accounts/test_statement.py::test_balance_entry_and_use_are_one_or_nothing",
    ),
    Protection(
        "a charge is within the balance",
        """\
                covered.append(balance >= ZERO)
                if balance >= ZERO:
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
        "test_passwords_are_hashed_with_argon2_and_stored_nowhere",
    ),
    Protection(
        "a revoked key is nobody's",
        "WHERE key_hash = ? AND revoked_at IS NULL",
        "WHERE key_hash = ?",
        "tests/service/accounts/test_accounts.py::test_a_revoked_key_has_no_holder_from_then_on",
    ),
    Protection(
        "nobody revokes the key of another",
        "WHERE key_id = ? AND account_id = ? AND revoked_at IS NULL",
        "WHERE key_id = ? AND ? AND revoked_at IS NULL",
        "tests/service/accounts/test_accounts.py::test_nobody_revokes_the_key_of_another",
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
        'character if character.isprintable() else " " for character in value',
        "character for character in value",
        "tests/cli/accounts/test_looking.py::test_text_typed_on_a_page_does_nothing_to_a_terminal",
    ),
    Protection(
        "serve makes no folder whose name may be mistyped",
        "if options.data is not None and not folder.exists():",
        "if False:",
        "tests/service/test_serve.py::test_a_folder_that_is_named_and_not_there_is_not_made",
    ),
    Protection(
        "no command but open makes a folder",
        "if not make and not (folder / FILE).exists():",
        "if False:",
        "tests/cli/accounts/test_any_command.py::test_no_command_but_open_makes_a_folder",
    ),
    Protection(
        "a text in a statement is no formula",
        "cell(entry.note)",
        "entry.note",
        "tests/service/accounts/test_statement.py::test_names_and_notes_are_texts",
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
        "a house has one limit, however many addresses",
        "return str(IPv6Address(int(parsed) >> NETWORK_BITS << NETWORK_BITS))",
        "return str(parsed)",
        "tests/service/test_app.py::test_an_ipv6_address_counts_for_its_network",
    ),
    Protection(
        "callers are forgotten when their window is over",
        "                return\n            del self._taken[caller]",
        "                return\n            return",
        "tests/service/test_app.py::test_callers_that_stay_away_are_forgotten",
    ),
    Protection(
        "the log does not quote errors",
        'cause = f"{kind}: {part}" if isinstance(part, TELLING) else kind',
        'cause = f"{kind}: {part}"',
        "tests/service/http/test_outcomes.py::test_no_line_has_what_people_send",
    ),
    Protection(
        "the log has no path that a caller made up",
        'getattr(scope.get("route"), "path", None)',
        'scope["path"]',
        "tests/service/http/test_outcomes.py::test_no_line_has_what_people_send",
    ),
    Protection(
        "a request that comes too slowly is broken off",
        "elif self._deadline is None:",
        "elif False:",
        "tests/service/http/test_connections.py::test_a_request_that_comes_too_slowly_is_broken_off",
    ),
    # What the service charges.
    Protection(
        "charges that are committed together share one balance",
        "                    balances[account] = balance\n",
        "",
        "tests/service/accounts/test_statement.py::test_a_balance_may_end_at_zero_and_not_below",
    ),
    Protection(
        "a batch of queries is charged whole or not at all",
        "        if not await self._charging.result(dues):\n",
        "        if not all([await self._charging.result([due]) for due in dues]):\n",
        "tests/service/reconcile/test_reconcile.py::"
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
        "tests/service/test_app.py::test_a_request_that_is_not_valid_counts_but_costs_nothing",
    ),
    Protection(
        "an account has one limit, however many keys",
        "self._key_limit.wait(holder.account_id, calls)",
        "self._key_limit.wait(holder.key_id, calls)",
        "tests/service/test_app.py::"
        "test_an_account_has_100_requests_a_minute_whatever_its_key_and_address",
    ),
    Protection(
        "a demo call, which nobody pays, states the price 0",
        "return [Answered(answer.matches, free(answer.matches)) for answer in answered]",
        "return answered",
        "tests/service/test_app.py::test_a_demo_call_states_the_price_0_and_nobody_pays",
    ),
)
