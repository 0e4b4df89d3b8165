"""``tender-pipeline accounts``: the accounts of the service, their keys and balances."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import date
from decimal import Decimal
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import click

from pipeline.cli.command import CommandGroup
from pipeline.cli.commands.serve import (
    DATA,
    DATA_HELP,
    accounts_command,
    service_extra,
    service_folder,
)
from pipeline.cli.options import in_json
from pipeline.cli.output.console import count_problems, iso, print_problems, say, table, utc
from pipeline.errors import SettingsError
from pipeline.money import plain, total
from pipeline.wording import quoted

if TYPE_CHECKING:  # its packages are an extra
    from pipeline.service.accounts import Account, Accounts, ApiKey, DailyUse, Entry


Rest = ParamSpec("Rest")


of_account = click.argument("name", metavar="ACCOUNT")
of_key = click.argument("key_id", metavar="KEY_ID")


def on_accounts(
    command: Callable[Concatenate[Accounts, Rest], int], make: bool = False
) -> Callable[..., int]:
    """Give a command the option --data and the accounts in that folder; `make` may create it."""

    @click.option("--data", help=DATA_HELP, **DATA)
    @wraps(command)
    def opened(data: Path | None, *args: Rest.args, **values: Rest.kwargs) -> int:
        with _accounts(service_folder(data), make) as accounts:
            return command(accounts, *args, **values)

    return opened


@contextmanager
def _accounts(folder: Path, make: bool) -> Iterator[Accounts]:
    """Open the accounts in a folder, and translate errors of SQLite, its values and arguments."""
    with service_extra():
        from pipeline.service.accounts import FILE, Accounts
        from pipeline.service.accounts.database import damaged, unusable
    if not make and not (folder / FILE).exists():
        raise SettingsError(
            f"There are no accounts in {folder}.",
            f"Open one: {accounts_command('open', folder)}; or give the right folder: --data DIR.",
        )
    with closing(Accounts(folder)) as accounts:
        try:
            yield accounts
        except sqlite3.Error as error:
            raise unusable(folder, error) from error
        except UnicodeEncodeError as error:  # the bytes of an argument may be anything
            raise SettingsError("An argument is not UTF-8.", "Give text in UTF-8.") from error
        except (TypeError, ArithmeticError) as error:  # no amount, no number
            raise damaged(FILE) from error


def find_account(accounts: Accounts, name: str) -> Account:
    """Return the account with a number or an e-mail address.

    Raises:
        SettingsError: there is none.
    """
    account = accounts.find(name)
    if account is None:
        raise SettingsError(
            f"There is no account {name!r}.",
            "Give its number or e-mail address; list all: "
            f"{accounts_command('list', accounts.folder)}.",
        )
    return account


def key_number(accounts: Accounts, account: Account, key_id: str) -> int:
    """Return the number of a key that the account has in use.

    Raises:
        SettingsError: it has no such key, or it is revoked.
    """
    from pipeline.service.accounts import row_number

    show = accounts_command(f"show {account.account_id}", accounts.folder)
    see = f"See the numbers of its keys: {show}."
    number = row_number(key_id)
    if number is None:  # it may be the secret: do not repeat it
        raise SettingsError("KEY_ID must be the number of a key, not the key itself.", see)
    keys = accounts.keys.of(account.account_id)
    if not any(key.key_id == number and key.revoked_at is None for key in keys):
        raise SettingsError(f"Account {account.account_id} has no key {number} in use.", see)
    return number


def amount(text: str) -> Decimal:
    """Return an amount of US dollars, exactly as it is written.

    Raises:
        SettingsError: it is not a decimal number.
    """
    if not re.fullmatch(r"\d+(\.\d+)?|\.\d+", text.strip(), re.ASCII):
        raise SettingsError(
            f"{quoted(text)} is not an amount of US dollars.",
            "Write a decimal number such as 2.50.",
        )
    return Decimal(text.strip())


def new_password() -> str:
    """Ask twice on a terminal, without echo; else read the first line of standard input.

    An argument would show in process lists and in the history of the shell.

    Raises:
        SettingsError: it is missing or not UTF-8.
        click.Abort: the user gave up.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        asked: str = click.prompt(
            "Password", hide_input=True, confirmation_prompt="Repeat the password", err=True
        )
        return asked
    line = b"" if sys.stdin is None else sys.stdin.buffer.readline()
    try:
        password = line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        # Without the cause, whose message quotes the bytes.
        raise SettingsError(
            "The password is not UTF-8.", "Give it as the first line of standard input, in UTF-8."
        ) from None
    if not password:
        raise SettingsError(
            "There is no password.",
            "Type it on a terminal, or give it as the first line of standard input.",
        )
    return password


CONSISTENT, INCONSISTENT = 0, 1

LAST = 10
"""Entries that `show` prints by default."""

DAYS = 30
"""Days up to today (UTC) that are counted."""


ACCOUNTS = {
    "account": "account",
    "email": "e-mail",
    "opened_at": "opened (UTC)",
    "keys_in_use": "keys in use",
    f"calls_{DAYS}_days": f"calls in {DAYS} days",
    f"spent_{DAYS}_days_usd": f"USD in {DAYS} days",
    "balance_usd": "balance USD",
}
KEYS = {
    "key": "key",
    "name": "name",
    "begins": "begins",
    "made_at": "made (UTC)",
    "used_at": "last used (UTC)",
    "revoked_at": "revoked (UTC)",
}
USAGE = {"day": "day (UTC)", "system": "system", "calls": "calls", "usd": "USD"}
ENTRIES = {
    "entry": "entry",
    "at": "time (UTC)",
    "kind": "kind",
    "system": "system",
    "key": "key",
    "note": "note",
    "amount_usd": "USD",
    "balance_usd": "balance USD",
}


@click.group(cls=CommandGroup)
def accounts() -> None:
    """Open accounts of the service, top them up, and manage their keys and statements.

    ACCOUNT is the number of an account or its e-mail address. All commands work while the service
    runs; changes take effect from the next call on.
    """


@accounts.command("open", short_help="Open an account and print its API key.")
@click.option("--email", help="Address to log in with; asks for a password.")
@click.option("--balance", metavar="USD", default="5.00", help="The opening balance.")
@partial(on_accounts, make=True)
def open_account(accounts: Accounts, email: str | None, balance: str) -> int:
    """Open an account and print its API key, which is shown only once, as the last line.

    Without a terminal, the password is read from standard input.
    """
    usd = _opening(balance)
    if email is None:
        opened = accounts.open(usd)
        account, key = accounts.account(opened.account_id), opened.key
    else:
        from pipeline.service.accounts.accounts import FIRST_KEY, checked_email

        if (taken := accounts.find(email)) is not None:
            raise SettingsError(
                f"{email} already has account {taken.account_id}.",
                f"See it: {accounts_command(f'show {taken.account_id}', accounts.folder)}.",
            )
        checked_email(email)  # before the password is asked for
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
    """List all accounts with their balances and their usage in the last 30 days."""
    listed = [list_figures(account, *_use(accounts, account)) for account in accounts.all()]
    if as_json:
        say(json.dumps({"accounts": listed}))
    else:
        say("\n".join(table(listed, ACCOUNTS, numbers=4)) if listed else "no accounts yet")
    return 0


@accounts.command(short_help="Show balance, keys, usage and last entries.")
@of_account
@click.option(
    "--entries",
    default=LAST,
    type=click.IntRange(0, 10_000),
    help="The number of last entries to show.",
)
@in_json
@on_accounts
def show(accounts: Accounts, name: str, entries: int, as_json: bool) -> int:
    """Show an ACCOUNT: its balance, keys, usage in the last 30 days and last entries."""
    account = find_account(accounts, name)
    last = accounts.statement.entries(account.account_id, entries)
    figures = account_figures(account, *_use(accounts, account), last)
    say(json.dumps(figures) if as_json else "\n".join(account_lines(figures)))
    return 0


# So that a negative amount is reported as a wrong amount, not as an unknown option.
@accounts.command(
    "top-up",
    short_help="Add to the balance of an account.",
    context_settings={"ignore_unknown_options": True},
)
@of_account
@click.argument("usd", metavar="USD")
@click.option("--note", default="", show_default=False, help="A note for the statement.")
@on_accounts
def top_up(accounts: Accounts, name: str, usd: str, note: str) -> int:
    """Add USD to the balance of an ACCOUNT."""
    added, account = amount(usd), find_account(accounts, name)
    balance = accounts.statement.top_up(account.account_id, added, note)
    say(f"account {account.account_id}: {plain(added)} USD added, balance {plain(balance)} USD")
    return 0


@accounts.command("add-key", short_help="Make another API key and print it.")
@of_account
@click.option("--name", "key_name", default="", show_default=False, help="A name for the key.")
@on_accounts
def add_key(accounts: Accounts, name: str, key_name: str) -> int:
    """Make another API key for an ACCOUNT and print it, once only, as the last line."""
    account = find_account(accounts, name)
    new = accounts.keys.make(account.account_id, key_name)
    _tell(f"account {account.account_id} has the new key {new.key_id}:")
    say(new.key)
    return 0


@accounts.command("revoke-key", short_help="Revoke an API key.")
@of_account
@of_key
@on_accounts
def revoke_key(accounts: Accounts, name: str, key_id: str) -> int:
    """Revoke a key of an ACCOUNT; `show` lists the numbers of keys."""
    account = find_account(accounts, name)
    key = key_number(accounts, account, key_id)
    accounts.keys.revoke(account.account_id, key)
    say(f"account {account.account_id}: key {key} is revoked")
    return 0


@accounts.command("set-password", short_help="Change the password of an account.")
@of_account
@on_accounts
def set_password(accounts: Accounts, name: str) -> int:
    """Change the password of an ACCOUNT; all its sessions end.

    Without a terminal, the password is read from standard input.
    """
    account = find_account(accounts, name)
    if account.email is None:
        raise SettingsError(
            f"Account {account.account_id} has no e-mail address, so it has no login.",
            "Open one with an address: "
            f"{accounts_command('open --email ADDRESS', accounts.folder)}.",
        )
    accounts.set_password(account.account_id, new_password())
    say(f"account {account.account_id}: password changed, all sessions ended")
    return 0


@accounts.command(short_help="Check the books of all accounts.")
@in_json
@on_accounts
def verify(accounts: Accounts, as_json: bool) -> int:
    """Check the books of all accounts; exit with 1 if they do not agree.

    Every balance must be the sum of the entries of its statement, and never below zero; each
    entry must follow from the one before; and the daily totals must match the charges.
    """
    with accounts.audit() as audit:
        first, count = count_problems(audit.problems())
    figures = {"accounts": audit.accounts, "entries": audit.entries}
    totals = f"accounts: {audit.accounts:,}, entries: {audit.entries:,}"
    print_problems(first, count, totals, figures if as_json else None)
    return INCONSISTENT if count else CONSISTENT


def _opening(balance: str) -> Decimal:
    """Return an opening balance, which may be 0."""
    from pipeline.service.accounts import check_amount

    usd = amount(balance)
    if usd:
        check_amount(usd)
    return usd


def _use(accounts: Accounts, account: Account) -> tuple[list[ApiKey], list[DailyUse]]:
    """Return the keys of an account, the newest first, and its usage in the last `DAYS` days."""
    number = account.account_id
    return accounts.keys.of(number), accounts.statement.usage(number, DAYS)


def _tell(text: str) -> None:
    """Print on standard error, away from what programs read."""
    click.echo(text, err=True)


def list_figures(
    account: Account, keys: Sequence[ApiKey], usage: Sequence[DailyUse]
) -> dict[str, Any]:
    """Return an account's row, with its keys and its usage in the last `DAYS` days, as JSON types.

    Money is text, times are in ISO 8601.
    """
    return {
        "account": account.account_id,
        "email": account.email,
        "opened_at": iso(account.opened_at),
        "balance_usd": plain(account.balance_usd),
        "keys_in_use": sum(key.revoked_at is None for key in keys),
        f"calls_{DAYS}_days": sum(use.calls for use in usage),
        f"spent_{DAYS}_days_usd": plain(total(use.usd for use in usage)),
    }


def account_figures(
    account: Account,
    keys: Sequence[ApiKey],
    usage: Sequence[DailyUse],
    entries: Sequence[Entry],
) -> dict[str, Any]:
    """Return an account with its keys, its usage and its last entries as JSON types."""
    return {
        **list_figures(account, keys, usage),
        "keys": [_figures(key, KEYS) for key in keys],
        "usage": [_figures(use, USAGE) for use in usage],
        "entries": [_figures(entry, ENTRIES) for entry in entries],
    }


def account_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield the figures of an account, with tables of its keys, its usage and its last entries."""
    yield f"account {figures['account']} {figures['email'] or ''}".rstrip()
    yield f"opened {utc(figures['opened_at'])} UTC"
    yield f"balance {figures['balance_usd']} USD"
    yield ""
    keys = [{**key, "used_at": key["used_at"] or "never"} for key in figures["keys"]]
    yield from table(keys, KEYS) if keys else ["no keys"]
    yield ""
    calls, spent = figures[f"calls_{DAYS}_days"], figures[f"spent_{DAYS}_days_usd"]
    usage = [*figures["usage"], {"day": "total", "calls": calls, "usd": spent}]
    none = [f"no calls in the last {DAYS} days"]
    yield from table(usage, USAGE, numbers=2) if figures["usage"] else none
    yield ""
    yield from table(figures["entries"], ENTRIES, numbers=2)


FIELDS = {"key": "key_id", "entry": "entry_id", "begins": "hint"}
"""The fields of the service's records that the figures call otherwise."""


def _figures(record: object, names: Iterable[str]) -> dict[str, Any]:
    """Return some fields of a record of the service as JSON types."""
    return {name: _json_type(getattr(record, FIELDS.get(name, name))) for name in names}


def _json_type(value: Any) -> Any:
    match value:
        case Decimal():
            return plain(value)
        case date():
            return value.isoformat()
        case float():
            return iso(value)
    return value
