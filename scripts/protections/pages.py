"""Sessions, forms and passwords on the pages of the service."""

from __future__ import annotations

from .protection import Protection

PROTECTIONS = (
    Protection(
        "a form that no browser says is ours is refused",
        'request.headers.get("Referer", "")',
        "f\"http://{request.headers.get('Host')}\"",
        "tests/service/web/test_forms.py::test_a_form_from_another_site_is_refused",
    ),
    Protection(
        "a form that a browser says another site sent is refused",
        "    _check_origin(request)\n",
        "",
        "tests/service/web/test_forms.py::test_a_form_from_another_site_is_refused",
    ),
    Protection(
        "logging out ends the session, not the cookie alone",
        """\
        site.accounts.sessions.end(visitor.session)
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
        "tests/service/web/test_authentication.py::test_a_session_is_over_after_its_time",
    ),
    Protection(
        "a new password ends every session",
        """execute("DELETE FROM sessions WHERE account_id = ?", (account,))""",
        """execute("SELECT 1")""",
        "tests/service/web/test_authentication.py::test_a_changed_password_ends_every_other_session",
    ),
    Protection(
        "no script reads a cookie",
        "            httponly=True,\n",
        "",
        "tests/service/web/test_authentication.py::"
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
        "take(self._pair, pair) or ",
        "",
        "tests/service/web/test_authentication.py::test_a_guesser_is_locked_out_and_nobody_else",
    ),
    Protection(
        "an address guesses the passwords of all accounts only so often",
        " or take(self._address, network)",
        "",
        "tests/service/web/test_authentication.py::test_an_address_is_bounded_over_all_accounts",
    ),
    Protection(
        "guessing locks nobody else out",
        "take(self._pair, pair)",
        "take(self._pair, name)",
        "tests/service/web/test_authentication.py::test_a_guesser_is_locked_out_and_nobody_else",
    ),
    Protection(
        "an account is guessed at only so often, whoever does it",
        "wait or (take(self._account, name) and take(self._late, pair))",
        "wait",
        "tests/service/web/test_authentication.py::"
        "test_guessing_is_bounded_from_however_many_addresses_and_locks_no_owner_out",
    ),
    Protection(
        "guessing from everywhere does not lock the owner out",
        " and take(self._late, pair)",
        "",
        "tests/service/web/test_authentication.py::"
        "test_guessing_is_bounded_from_however_many_addresses_and_locks_no_owner_out",
    ),
    Protection(
        "every response has the security headers",
        "    app.add_middleware(AccessLog, failed=answer_failures(app, error_page))\n"
        "    app.add_middleware(SecurityHeaders)",
        "    app.add_middleware(AccessLog, failed=answer_failures(app, error_page))",
        "tests/service/web/test_security.py::test_every_response_says_what_browsers_may_do_with_it",
    ),
    Protection(
        "what is shown is escaped",
        "autoescape=True,",
        "autoescape=False,",
        "tests/service/web/test_security.py",
    ),
)
