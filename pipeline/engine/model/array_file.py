"""Memory-maps model arrays from untrusted .npy files; only plain arrays are accepted.

NumPy's own reader evaluates the header as Python and opens any kind of file by name.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from pipeline.files.regular import open_regular

__all__ = ["mapped"]

MAGIC = b"\x93NUMPY\x01\x00"

HEADER = re.compile(
    r"\{'descr': '([<>|][uifS][1-8])', 'fortran_order': (True|False), "
    r"'shape': \(((?:[0-9]{1,12}, ?)*(?:[0-9]{1,12})?)\), \} *\n"
)
"""The header that NumPy writes for an array without fields or objects."""

ARRAY_BYTES = 2**32
"""Size limit, several times the size of the largest model array."""


def mapped(path: Path) -> npt.NDArray[Any]:
    """Map an array into memory without reading its data.

    Raises:
        ValueError: the file is unreadable, not a plain array, or its length contradicts its header.
    """
    try:
        return _mapped(path)
    except OSError as error:
        raise ValueError(f"{path.name}: {error.strerror or error}") from error


def _mapped(path: Path) -> npt.NDArray[Any]:
    with open_regular(path) as file:
        header = _header(file)
        if header is None:
            raise ValueError(f"{path.name} is no plain array")
        kind, fortran, shape = header
        offset = file.tell()
        size = math.prod(shape) * kind.itemsize
        if size > ARRAY_BYTES or os.fstat(file.fileno()).st_size != offset + size:
            raise ValueError(f"{path.name} is not as long as it says")
        order: Any = "F" if fortran else "C"
        if not size:  # an empty array cannot be mapped
            return np.empty(shape, kind, order)
        # As a plain array: with a memmap, NumPy runs Python code for each slice and each result.
        return np.asarray(np.memmap(file, kind, "r", offset, shape, order))


def _header(file: BinaryIO) -> tuple[np.dtype[Any], bool, tuple[int, ...]] | None:
    """Return (dtype, whether it is in Fortran order, shape); None if it is not a plain array."""
    begins = file.read(len(MAGIC) + 2)
    text = file.read(int.from_bytes(begins[len(MAGIC) :], "little")).decode("latin-1")
    found = HEADER.fullmatch(text)
    if not begins.startswith(MAGIC) or found is None:
        return None
    shape = tuple(int(size) for size in found[3].split(",") if size.strip())
    return np.dtype(found[1]), found[2] == "True", shape
