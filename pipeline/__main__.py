"""Makes ``python -m pipeline`` the same as ``tender-pipeline``."""

from pipeline.cli import program

program()
