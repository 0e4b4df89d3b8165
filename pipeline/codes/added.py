"""Code tables that the user added: the full UNSPSC table, whose licence forbids shipping it."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from pipeline.answers import System
from pipeline.codes.table import CodeTable
from pipeline.errors import CodeTableError, SettingsError, reason
from pipeline.files.paths import data_folder
from pipeline.files.regular import open_regular
from pipeline.wording import command

DAMAGE = (OSError, LookupError, AttributeError, TypeError, ValueError)
"""What reading raises, beside Arrow's errors, for a damaged table, or one that this tool did not
write: it may lack metadata or columns, or have values of other types."""


def added(system: System) -> CodeTable | None:
    """Return the table that the user added for a system; None if there is none.

    Raises:
        CodeTableError: the table is damaged.
    """
    table = _found(system)
    return read(*table) if table else None


def added_digest(system: System) -> str | None:
    """Return the SHA-256 of the table that the user added for a system; None if there is none.

    Raises:
        CodeTableError: the table cannot be read.
    """
    table = _found(system)
    return _digest(*table) if table else None


def remove(system: System) -> bool:
    """Remove an added table; return whether there was one.

    Raises:
        CodeTableError: the file cannot be removed.
    """
    path = path_of(system)
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise CodeTableError(
            f"The added table {path} cannot be removed: {error.strerror}.",
            f"Delete it yourself, or check the permissions of {path.parent}.",
        ) from error
    return True


def path_of(system: System) -> Path:
    """Return where the added table of a system is."""
    return data_folder() / "codes" / f"{system}.parquet"


def _found(system: System) -> tuple[Path, int] | None:
    """Return (the path of an added table, when it was changed); None if there is none."""
    try:
        path = path_of(system)
    except SettingsError:  # no home folder, so nothing was added
        return None
    try:
        return path, path.stat().st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _damage_error(path, error) from error


@lru_cache(maxsize=2)
def _digest(path: Path, changed: int) -> str:  # noqa: ARG001 - reads a changed file again
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise _damage_error(path, error) from error


@lru_cache(maxsize=2)
def read(path: Path, changed: int) -> CodeTable:  # noqa: ARG001 - reads a changed file again
    """Return an added table; it is read again if the time at which it changed is another.

    Raises:
        CodeTableError: the table is damaged.
    """
    import pyarrow as pa  # slow to import, and few users add a table
    import pyarrow.parquet as pq

    try:
        with open_regular(path) as file:
            table = pq.ParquetFile(file).read()
        about = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
        titles = dict(zip(table["code"].to_pylist(), table["title"].to_pylist(), strict=True))
        if not all(isinstance(code, str) for code in titles):
            raise TypeError("a code is not text")
        edition, source = about["edition"], about["source"]
    except (pa.ArrowException, *DAMAGE) as error:
        raise _damage_error(path, error) from error
    return CodeTable("unspsc", edition, source, "as its publisher states", titles)


def _damage_error(path: Path, error: Exception) -> CodeTableError:
    return CodeTableError(
        f"The added table {path} cannot be read: {reason(error)}.",
        f"Remove it ({command('codes remove unspsc')}), then add your file again.",
    )
