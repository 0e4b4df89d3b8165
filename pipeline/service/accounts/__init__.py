"""The accounts of a service: balances, statements, API keys, and who is logged in."""

from pipeline.service.accounts.accounts import STARTING_BALANCE, Account, Accounts, Opened
from pipeline.service.accounts.batch import Due
from pipeline.service.accounts.keys import ApiKey, Holder, Keys, NewKey
from pipeline.service.accounts.passwords import Passwords
from pipeline.service.accounts.sessions import LIFETIME, Sessions
from pipeline.service.accounts.statement import DailyUse, Entry, Statement

__all__ = [
    "LIFETIME",
    "STARTING_BALANCE",
    "Account",
    "Accounts",
    "ApiKey",
    "DailyUse",
    "Due",
    "Entry",
    "Holder",
    "Keys",
    "NewKey",
    "Opened",
    "Passwords",
    "Sessions",
    "Statement",
]
