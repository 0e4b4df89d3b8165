"""What people decided about the codes of texts: the file format, merging, and applying them."""

from pipeline.decisions.applied import CODE_COLUMN, TEXT_COLUMN, DecidedLabels, decided, label_table
from pipeline.decisions.decision import (
    Choice,
    Decision,
    DecisionFile,
    DecisionLog,
    Key,
    Verdict,
    read_decisions,
    text_key,
)
from pipeline.decisions.merged import NO_DECISIONS, Conflict, Decisions, merged

__all__ = [
    "CODE_COLUMN",
    "NO_DECISIONS",
    "TEXT_COLUMN",
    "Choice",
    "Conflict",
    "DecidedLabels",
    "Decision",
    "DecisionFile",
    "DecisionLog",
    "Decisions",
    "Key",
    "Verdict",
    "decided",
    "label_table",
    "merged",
    "read_decisions",
    "text_key",
]
