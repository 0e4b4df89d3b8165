"""The embedded service: the interface's server on the embedded engine, to rehearse paid runs."""

from pipeline.service import faults, log_lines, server
from pipeline.service.accounts import STARTING_BALANCE, Account, Accounts, Entry, Opened
from pipeline.service.app import create_app, engine_matchers
from pipeline.service.bodies import METADATA, Metadata
from pipeline.service.limits import SlidingWindow
from pipeline.service.possession import possession

__all__ = [
    "METADATA",
    "STARTING_BALANCE",
    "Account",
    "Accounts",
    "Entry",
    "Metadata",
    "Opened",
    "SlidingWindow",
    "create_app",
    "engine_matchers",
    "faults",
    "log_lines",
    "possession",
    "server",
]
