"""The embedded service: the interface's server on the embedded engine, to rehearse paid runs."""

TYPE_CHECKING = False  # as in the package's own names: what is imported is what is used
if TYPE_CHECKING:
    from pipeline.service import chaos, server
    from pipeline.service.accounts import STARTING_BALANCE, Accounts, Entry, Opened
    from pipeline.service.accounts.folder_lock import only_service
    from pipeline.service.app import create_app, engine_matchers
    from pipeline.service.http import json_logging
    from pipeline.service.http.bodies import METADATA

__all__ = [
    "METADATA",
    "STARTING_BALANCE",
    "Accounts",
    "Entry",
    "Opened",
    "chaos",
    "create_app",
    "engine_matchers",
    "json_logging",
    "only_service",
    "server",
]

if not TYPE_CHECKING:
    MODULES = {"chaos": "chaos", "json_logging": "http.json_logging", "server": "server"}
    HOMES = ("accounts", "http.bodies", "accounts.folder_lock", "app")
    """Where the other names are; the last needs the engine and Starlette, the first neither."""

    def __getattr__(name: str) -> object:
        """Import a name when it is asked for: commands of accounts start three times faster."""
        from importlib import import_module

        if name in MODULES:
            return import_module(f"{__name__}.{MODULES[name]}")
        for home in HOMES if name in __all__ else ():
            found = getattr(import_module(f"{__name__}.{home}"), name, None)
            if found is not None:
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
