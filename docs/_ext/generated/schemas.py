"""The tables of the SQLite files, and the columns of the ledger's export."""

from __future__ import annotations

from generated.markdown import block, code, table
from pipeline.paid.ledger.export import BODY, COLUMNS
from pipeline.paid.ledger.schema import SCHEMA as LEDGER
from pipeline.service.accounts.database import SCHEMA as ACCOUNTS
from pipeline.service.chaos.record import SCHEMA as RECORD

__all__ = ["accounts_schema", "export_columns", "ledger_schema", "record_schema"]


def ledger_schema() -> str:
    """Return the tables of ``ledger.db``."""
    return block("sql", LEDGER)


def accounts_schema() -> str:
    """Return the tables of the service's ``service.db``."""
    return block("sql", ACCOUNTS)


def record_schema() -> str:
    """Return the tables of a rehearsal's ``record.db``."""
    return block("sql", RECORD)


def export_columns() -> str:
    """Return the columns of ``ledger export``."""
    fields = [*COLUMNS, BODY]
    return table(
        ["column", "type"], [[code(field.name), code(str(field.type))] for field in fields]
    )
