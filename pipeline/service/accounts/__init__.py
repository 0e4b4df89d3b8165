"""The accounts of a service: balances, statements, API keys and sessions."""

from pipeline.service.accounts.accounts import (
    STARTING_BALANCE,
    Account,
    Accounts,
    Opened,
    canonical_email,
)
from pipeline.service.accounts.charging import Due
from pipeline.service.accounts.database import row_number
from pipeline.service.accounts.hashing import Passwords
from pipeline.service.accounts.keys import ApiKey, Holder, NewKey
from pipeline.service.accounts.schema import FILE
from pipeline.service.accounts.sessions import LIFETIME
from pipeline.service.accounts.statement import DailyUse, Entry, check_amount
from pipeline.service.accounts.statement_csv import statement_csv

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
    "Opened",
    "Passwords",
    "canonical_email",
    "check_amount",
    "row_number",
    "statement_csv",
]
