"""The accounts of a service: balances, statements, API keys and sessions."""

from pipeline.service.accounts.accounts import (
    STARTING_BALANCE,
    Account,
    Accounts,
    canonical_email,
)
from pipeline.service.accounts.database import FILE, row_number
from pipeline.service.accounts.keys import LIFETIME, ApiKey, Holder, NewKey, Passwords
from pipeline.service.accounts.statement import DailyUse, Due, Entry, check_amount, statement_csv

__all__ = [
    "FILE",
    "LIFETIME",
    "STARTING_BALANCE",
    "Account",
    "Accounts",
    "ApiKey",
    "DailyUse",
    "Due",
    "Entry",
    "Holder",
    "NewKey",
    "Passwords",
    "canonical_email",
    "check_amount",
    "row_number",
    "statement_csv",
]
