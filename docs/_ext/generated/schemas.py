"""The tables of the SQLite files."""

from __future__ import annotations

from generated.markdown import block
from pipeline.paid.ledger.schema import SCHEMA as LEDGER
from pipeline.service.accounts.database import SCHEMA as ACCOUNTS
from pipeline.service.chaos.record import SCHEMA as RECORD

__all__ = ["accounts_schema", "ledger_schema", "record_schema"]


def ledger_schema() -> str:
    """Return the tables of ``ledger.db``."""
    return block("sql", LEDGER)


def accounts_schema() -> str:
    """Return the tables of the service's ``service.db``."""
    return block("sql", ACCOUNTS)


def record_schema() -> str:
    """Return the tables of a rehearsal's ``record.db``."""
    return block("sql", RECORD)
