"""The embedded engine as a matcher: answers whole batches, in as many processes as asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, TypeAlias

from pipeline.answers import BatchAnswers, Explained, Matched, System
from pipeline.codes import load
from pipeline.engine.model import ModelFolder, load_model, shipped_model
from pipeline.engine.model.encoder import portions
from pipeline.engine.model.ranker import Ranker
from pipeline.processes import Jobs, in_processes, shared_out

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

ALONE = 8192
"""Answers after which ``auto`` starts processes: they take about as long as a start costs."""

_Asked: TypeAlias = tuple[System, ModelFolder | None]
"""The arguments of `ranker`."""


class Engine:
    """Answers offline and free.

    Args:
        systems: the systems to answer for.
        top: how many matches an answer has at most.
        jobs: the most processes; there are as many as are worth their start, this one among them.
            ``auto`` is this one until `ALONE` answers show that the table is large.
        models: models to use in place of the shipped ones.
        explain: whether answers name the words that count for the best code.
    """

    def __init__(
        self,
        systems: Sequence[System],
        top: int = 10,
        jobs: Jobs = 1,
        models: Mapping[System, ModelFolder] | None = None,
        explain: bool = False,
    ) -> None:
        by_system = models or {}
        self._systems = tuple((system, by_system.get(system)) for system in systems)
        self._answer = partial(_answer, self._systems, top, explain)
        self._jobs = jobs

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        """Answer batches of texts; see `pipeline.answers.Matcher`.

        Raises:
            EngineError: a worker process died.
        """
        left, most = iter(batches), self._jobs
        if most == "auto":
            yield from self._first(left)
        jobs, left = shared_out(left, most)
        yield from in_processes(self._answer, left, jobs)

    def _first(self, batches: Iterator[Sequence[str]]) -> Iterator[BatchAnswers]:
        answered = 0
        for texts in batches:
            yield self._answer(texts)
            answered += len(set(texts)) * len(self._systems)
            if answered >= ALONE:
                return


def _answer(
    systems: Sequence[_Asked], top: int, explain: bool, texts: Sequence[str]
) -> BatchAnswers:
    """Answer one batch; a text that occurs several times is ranked once."""
    distinct = list(dict.fromkeys(text for text in texts if text))
    by_text: dict[System, dict[str, Matched]] = {asked[0]: {} for asked in systems}
    # More threads need more processor time and hardly save any: the matrices are small.
    with _blas().limit(limits=1, user_api="blas"):
        for some in portions(distinct):
            # All systems for some texts before the next texts: they share the cleaned text.
            for asked in systems:
                found = _matched(ranker(*asked), some, top, explain)
                by_text[asked[0]].update(zip(some, found, strict=True))
    return {system: [found.get(text) for text in texts] for system, found in by_text.items()}


@cache
def _blas() -> ThreadpoolController:
    """Return what sets the threads of BLAS; finding its libraries takes a millisecond."""
    from threadpoolctl import ThreadpoolController  # not needed to show help or to buy

    return ThreadpoolController()


def _matched(ranks: Ranker, texts: Sequence[str], top: int, explain: bool) -> Sequence[Matched]:
    ranked = ranks.rank(texts, top)
    if not explain:
        return [*map(Matched, ranked)]
    best = {text: found[0].code for text, found in zip(texts, ranked, strict=True) if found}
    whys = dict(zip(best, ranks.why(list(best), list(best.values())), strict=True))
    both = zip(texts, ranked, strict=True)
    return [Explained(found, why=whys.get(text, "")) for text, found in both]


@cache
def ranker(system: System, model: ModelFolder | None = None) -> Ranker:
    """Return what ranks the codes of a system by a model, the shipped one if none is given.

    Each process loads it once.

    Raises:
        SettingsError: the model is damaged, or was replaced since it was opened.
    """
    learned = load_model(model or shipped_model(), system)
    return Ranker(learned, load(system))
