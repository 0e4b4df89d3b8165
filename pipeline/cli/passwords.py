"""Asks for a password, which as an argument would show in process lists and shell history."""

from __future__ import annotations

import sys

import click

from pipeline.errors import SettingsError

__all__ = ["new_password"]


def new_password() -> str:
    """Ask twice on a terminal, without echo; else read the first line of standard input.

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
