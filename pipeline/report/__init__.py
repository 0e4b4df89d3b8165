"""The report of a run: one HTML page for people, without network or scripts."""

from pipeline.report.changes import Changes
from pipeline.report.page import Collected, page, page_file

__all__ = ["Changes", "Collected", "page", "page_file"]
