"""The parser of a benchmark's arguments, whose help is what the benchmark says of itself."""

from __future__ import annotations

import argparse
from pathlib import Path


def parser_for(file: str, text: str | None) -> argparse.ArgumentParser:
    """Return a parser without arguments.

    Args:
        file: the file of the benchmark.
        text: its docstring.
    """
    return argparse.ArgumentParser(
        prog=f"python -m benchmarks.{Path(file).stem}".removesuffix(".__main__"),
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
