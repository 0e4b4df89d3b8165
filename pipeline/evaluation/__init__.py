"""Measures how good codes are: the engine, models and paid services on labelled tables."""

from pipeline.evaluation.dataset import Labelled, labelled
from pipeline.evaluation.entry import evaluate
from pipeline.evaluation.evaluation import Evaluation
from pipeline.evaluation.measuring import headline
from pipeline.evaluation.page import page, page_file
from pipeline.evaluation.phrases import left_out_lines
from pipeline.evaluation.run import Stopped, evaluated
from pipeline.evaluation.settings import EvaluationSettings, check_given
from pipeline.evaluation.subjects import (
    Embedded,
    Paid,
    Subject,
    check_subjects,
    is_address,
    model,
    offline,
)
from pipeline.evaluation.suspects import check_suspects, write_suspects

__all__ = [
    "Embedded",
    "Evaluation",
    "EvaluationSettings",
    "Labelled",
    "Paid",
    "Stopped",
    "Subject",
    "check_given",
    "check_subjects",
    "check_suspects",
    "evaluate",
    "evaluated",
    "headline",
    "is_address",
    "labelled",
    "left_out_lines",
    "model",
    "offline",
    "page",
    "page_file",
    "write_suspects",
]
