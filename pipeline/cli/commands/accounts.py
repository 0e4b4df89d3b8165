"""``tender-pipeline accounts``: who may call the service, with which keys, and for what money."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli.account_options import (
    Text,
    amount,
    key_in_use,
    known,
    of_account,
    of_key,
    on_accounts,
    on_new_accounts,
)
from pipeline.cli.ledger_options import in_json
from pipeline.cli.output.accounts import (
    DAYS,
    Standing,
    account_figures,
    account_lines,
    list_figures,
    list_lines,
)
from pipeline.cli.output.console import say
from pipeline.cli.passwords import new_password
from pipeline.errors import OutputError, SettingsError
from pipeline.files.atomic import only_writer, sync, translated
from pipeline.money import plain

if TYPE_CHECKING:  # its packages are an extra
    from pipeline.service.accounts import Account, Accounts

__all__ = ["accounts"]

CONSISTENT, INCONSISTENT = 0, 1

PRINTED = 100
"""Problems that `verify` prints."""

LAST = 10
"""Entries that `show` shows unless it is told."""


@click.group(short_help="Open accounts of the service, top them up and check them.")
def accounts() -> None:
    """Open accounts of the service, top them up, see their keys and statements.

    ACCOUNT is its number or the e-mail address that it was opened with. All commands may be used
    while the service runs; what they change holds from the next call on.
    """


@accounts.command("open", short_help="Open an account and print its API key.")
@click.option("--email", type=Text(), help="Who logs in on the pages; a password is asked for.")
@click.option("--balance", metavar="USD", default="5.00", show_default=True, help="To begin with.")
@on_new_accounts
def open_account(accounts: Accounts, email: str | None, balance: str) -> int:
    """Open an account; print its API key, which is shown only now, as the last line.

    A password is read from standard input where that is no terminal.
    """
    usd = _opening(balance)
    if email is None:
        opened = accounts.open(usd)
        account, key = accounts.account(opened.account_id), opened.key
    else:
        if (taken := accounts.find(email)) is not None:
            raise SettingsError(
                f"{email} has an account: {taken.account_id}.",
                f"See it: tender-pipeline accounts show {taken.account_id}.",
            )
        from pipeline.service.accounts.accounts import FIRST_KEY

        account = accounts.account(accounts.sign_up(email, new_password(), usd))
        key = accounts.keys.make(account.account_id, FIRST_KEY).key
    who = "" if account.email is None else f" of {account.email}"
    _tell(f"account {account.account_id}{who} with {plain(usd)} USD in {accounts.folder}; its key:")
    say(key)
    return 0


@accounts.command("list", short_help="List all accounts and their balances.")
@in_json
@on_accounts
def list_accounts(accounts: Accounts, as_json: bool) -> int:
    """List all accounts with their balances and what they used in the last 30 days."""
    standings = [_standing(accounts, account) for account in accounts.all()]
    if as_json:
        say(json.dumps({"accounts": [list_figures(one) for one in standings]}))
    else:
        say("\n".join(list_lines(standings)) if standings else "no accounts yet")
    return 0


@accounts.command(short_help="Show a balance, keys, use and the last entries.")
@of_account
@click.option(
    "--entries",
    default=LAST,
    show_default=True,
    type=click.IntRange(0, 10_000),
    help="How many of the last.",
)
@in_json
@on_accounts
def show(accounts: Accounts, name: str, entries: int, as_json: bool) -> int:
    """Show an ACCOUNT: its balance, keys, use in the last 30 days and last entries."""
    one = _standing(accounts, known(accounts, name))
    last = accounts.statement.entries(one.account.account_id, entries)
    if as_json:
        say(json.dumps(account_figures(one, last)))
    else:
        say("\n".join(account_lines(one, last)))
    return 0


# A negative amount is an amount that is told to be wrong, not an option that there is not.
@accounts.command(
    "top-up",
    short_help="Add to the balance of an account.",
    context_settings={"ignore_unknown_options": True},
)
@of_account
@click.argument("usd", metavar="USD", type=Text())
@click.option("--note", default="", type=Text(), help="What stands beside it in the statement.")
@on_accounts
def top_up(accounts: Accounts, name: str, usd: str, note: str) -> int:
    """Add USD to the balance of an ACCOUNT, exactly."""
    added, account = amount(usd), known(accounts, name)
    balance = accounts.statement.top_up(account.account_id, added, note)
    say(f"account {account.account_id}: {plain(added)} USD added, balance {plain(balance)} USD")
    return 0


@accounts.command("add-key", short_help="Make another API key and print it.")
@of_account
@click.option("--name", "key_name", default="", type=Text(), help="What it is for.")
@on_accounts
def add_key(accounts: Accounts, name: str, key_name: str) -> int:
    """Make another API key for an ACCOUNT; print it, which happens only now, as the last line."""
    account = known(accounts, name)
    new = accounts.keys.make(account.account_id, key_name)
    _tell(f"account {account.account_id} has the new key {new.key_id}:")
    say(new.key)
    return 0


@accounts.command("revoke-key", short_help="Let nobody call with a key any more.")
@of_account
@of_key
@on_accounts
def revoke_key(accounts: Accounts, name: str, key_id: str) -> int:
    """Let nobody call with a key of an ACCOUNT any more; show tells the keys' numbers."""
    account = known(accounts, name)
    key = key_in_use(accounts, account, key_id)
    accounts.keys.revoke(account.account_id, key.key_id)
    say(f"account {account.account_id}: key {key.key_id} is revoked")
    return 0


@accounts.command("rotate-key", short_help="Put a new API key in a key's place and print it.")
@of_account
@of_key
@on_accounts
def rotate_key(accounts: Accounts, name: str, key_id: str) -> int:
    """Revoke a key of an ACCOUNT and print a new one of the same name, as the last line."""
    account = known(accounts, name)
    key = key_in_use(accounts, account, key_id)
    new = accounts.keys.rotate(account.account_id, key.key_id)
    if new is None:  # somebody else was quicker
        raise SettingsError(f"Key {key.key_id} is revoked already.", "Make one with add-key.")
    _tell(
        f"account {account.account_id}: key {key.key_id} is revoked, {new.key_id} takes its place:"
    )
    say(new.key)
    return 0


@accounts.command("set-password", short_help="Change the password of an account.")
@of_account
@on_accounts
def set_password(accounts: Accounts, name: str) -> int:
    """Change the password of an ACCOUNT; whoever is logged in has to log in again.

    It is read from standard input where that is no terminal.
    """
    account = known(accounts, name)
    if account.email is None:
        raise SettingsError(
            f"Account {account.account_id} has no e-mail address, so nobody can log in to it.",
            "Open one that has: tender-pipeline accounts open --email ADDRESS.",
        )
    accounts.set_password(account.account_id, new_password())
    say(f"account {account.account_id}: the password is changed, everybody is logged out")
    return 0


@accounts.command(short_help="Print every entry of an account as CSV.")
@of_account
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write a file.")
@click.option("--overwrite", is_flag=True, help="Replace the file if it is there.")
@on_accounts
def statement(accounts: Accounts, name: str, output: Path | None, overwrite: bool) -> int:
    """Print every entry of an ACCOUNT as CSV, the oldest first: exact amounts, times in UTC."""
    from pipeline.service.accounts import statement_csv

    account = known(accounts, name)
    number = account.account_id
    pieces = statement_csv(accounts.statement.each(number), accounts.keys.of(number))
    if output is None:
        for piece in pieces:
            say(piece.removesuffix("\n"))
    else:
        _write(output, pieces, overwrite)
        _tell(f"the statement of account {number}: {output}")
    return 0


@accounts.command(short_help="Check that the books of all accounts agree.")
@in_json
@on_accounts
def verify(accounts: Accounts, as_json: bool) -> int:
    """Check that the books of all accounts agree; exit with 1 if they do not.

    Every balance is what the entries of its statement come to, and never was below zero; each
    entry follows from the one before; and the calls of each day are added up rightly.
    """
    with accounts.audit() as audit:
        wrong = audit.problems()
        shown = list(islice(wrong, PRINTED))
        count = len(shown) + sum(1 for _ in wrong)
    if as_json:
        figures = {"accounts": audit.accounts, "entries": audit.entries}
        say(json.dumps({**figures, "problems": count, "first_problems": shown}))
    else:
        more = [f"and {count - PRINTED:,} more"] if count > PRINTED else []
        agree = [] if count else ["everything agrees"]
        said = f"accounts: {audit.accounts:,}, entries: {audit.entries:,}"
        say("\n".join([*shown, *more, said, *agree]))
    return INCONSISTENT if count else CONSISTENT


def _opening(balance: str) -> Decimal:
    """Return what an account opens with; it may be nothing."""
    from pipeline.service.accounts import check_amount

    usd = amount(balance)
    if usd:
        check_amount(usd)
    return usd


def _standing(accounts: Accounts, account: Account) -> Standing:
    number = account.account_id
    return Standing(account, accounts.keys.of(number), accounts.statement.usage(number, DAYS))


def _write(path: Path, pieces: Iterable[str], overwrite: bool) -> None:
    """Write a file that comes into its place when it is whole."""
    with translated(path):
        place = path.resolve()
        _check(place, overwrite)
        with only_writer(place) as temporary:
            with temporary.open("w", newline="", encoding="utf-8") as file:
                file.writelines(pieces)
            sync(temporary)
            _check(place, overwrite)
            temporary.replace(place)
            sync(place.parent)


def _check(place: Path, overwrite: bool) -> None:
    if place.exists() and not overwrite:
        raise OutputError(
            f"{place} exists.", "Replace it with --overwrite, or write elsewhere: --output FILE."
        )


def _tell(text: str) -> None:
    """Say on standard error what is not for the program that reads standard output."""
    click.echo(text, err=True)
