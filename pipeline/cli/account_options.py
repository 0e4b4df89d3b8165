"""The arguments, options and passwords of the account commands."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import click

from pipeline.cli.service_extra import (
    accounts_command,
    is_there,
    on_data,
    service_extra,
    service_folder,
)
from pipeline.errors import SettingsError

if TYPE_CHECKING:  # its packages are an extra
    from pipeline.service.accounts import Account, Accounts, ApiKey

__all__ = [
    "Text",
    "amount",
    "key_in_use",
    "known",
    "new_password",
    "of_account",
    "of_key",
    "on_accounts",
]

Rest = ParamSpec("Rest")

SHOWN = 40
"""Characters of a wrong amount that a message quotes."""


class Text(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Text that is valid Unicode, which the bytes of an argument need not be."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text."""
        try:
            str(value).encode()
        except UnicodeEncodeError:
            self.fail("It is not UTF-8.", param, ctx)
        return value


of_account = click.argument("name", metavar="ACCOUNT", type=Text())
of_key = click.argument("key_id", metavar="KEY_ID", type=Text())


def on_accounts(
    command: Callable[Concatenate[Accounts, Rest], int], make: bool = False
) -> Callable[..., int]:
    """Give a command the option --data and the accounts in that folder; `make` may create it."""

    @on_data
    @wraps(command)
    def opened(data: Path | None, *args: Rest.args, **values: Rest.kwargs) -> int:
        with _accounts(service_folder(data), make) as accounts:
            return command(accounts, *args, **values)

    return opened


@contextmanager
def _accounts(folder: Path, make: bool) -> Iterator[Accounts]:
    """Open the accounts in a folder, and translate the errors of SQLite."""
    with service_extra():
        from pipeline.service.accounts import FILE, Accounts
        from pipeline.service.accounts.database import unusable
    if not make and not is_there(folder / FILE):
        raise SettingsError(
            f"There are no accounts in {folder}.",
            f"Open one: {accounts_command('open', folder)}; or give the right folder: --data DIR.",
        )
    with closing(Accounts(folder)) as accounts:
        try:
            yield accounts
        except sqlite3.Error as error:
            raise unusable(folder, error) from error


def known(accounts: Accounts, name: str) -> Account:
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


def key_in_use(accounts: Accounts, account: Account, key_id: str) -> ApiKey:
    """Return a key of an account by its number.

    Raises:
        SettingsError: the account has no such key, or it is revoked.
    """
    show = accounts_command(f"show {account.account_id}", accounts.folder)
    see = f"See the numbers of its keys: {show}."
    from pipeline.service.accounts import row_number

    number = row_number(key_id)
    if number is None:  # it may be the secret: do not repeat it
        raise SettingsError("KEY_ID must be the number of a key, not the key itself.", see)
    for key in accounts.keys.of(account.account_id):
        if key.key_id == number:
            if key.revoked_at is not None:
                raise SettingsError(f"Key {key_id} is already revoked.", see)
            return key
    raise SettingsError(f"Account {account.account_id} has no key {key_id}.", see)


def amount(text: str) -> Decimal:
    """Return an amount of US dollars, exactly as it is written.

    Raises:
        SettingsError: it is not a decimal number.
    """
    if not re.fullmatch(r"\d+(\.\d+)?|\.\d+", text.strip(), re.ASCII):
        raise SettingsError(
            f"{text[:SHOWN]!r} is not an amount of US dollars.",
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
