"""The embedded engine as a matcher: whole batches at once, over as many processes as asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import TypeAlias

from loky import ProcessPoolExecutor

from pipeline.answers import BatchAnswers, Explained, Matched, System
from pipeline.engine.model import ModelFolder
from pipeline.engine.model.encoder import portions
from pipeline.engine.rankers import Ranker, ranker
from pipeline.errors import EngineError
from pipeline.settings import EngineName, Settings

__all__ = ["Engine", "embedded"]

AHEAD = 2
"""Batches that wait for each process: enough to keep it busy, few enough to hold."""

IDLE = 60.0
"""Seconds without work after which a process ends, lest those of a killed run stay."""


_Asked: TypeAlias = tuple[System, EngineName, ModelFolder | None]
"""What `ranker` is asked for."""


class Engine:
    """Answers offline and free.

    Args:
        systems: the systems to answer for.
        top: how many matches an answer has at most.
        jobs: how many processes work; one means this one.
        models: models that answer in place of those that are shipped.
        engine: by what the systems are answered; see `ranker`.
        explain: whether answers say what spoke for them.
    """

    def __init__(
        self,
        systems: Sequence[System],
        top: int = 10,
        jobs: int = 1,
        models: Mapping[System, ModelFolder] | None = None,
        engine: EngineName = "learned",
        explain: bool = False,
    ) -> None:
        by_system = models or {}
        self._systems = tuple((system, engine, by_system.get(system)) for system in systems)
        self._top = top
        self._explain = explain
        self._jobs = jobs

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        """Answer batches of texts; see `pipeline.answers.Matcher`.

        Raises:
            EngineError: a worker process died.
        """
        if self._jobs == 1:
            for texts in batches:
                yield _answer(self._systems, texts, self._top, self._explain)
        else:
            yield from self._in_parallel(batches)

    def _in_parallel(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        for asked in self._systems:
            # Of this nothing is known, so all that may be needed is built here, and once.
            ranker(*asked).rank(["?"], 1)
        waiting: deque[Future[BatchAnswers]] = deque()
        executor = ProcessPoolExecutor(max_workers=self._jobs, timeout=IDLE)
        try:
            for texts in batches:
                batch = (self._systems, texts, self._top, self._explain)
                waiting.append(executor.submit(_answer, *batch))
                if len(waiting) > AHEAD * self._jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise EngineError(
                "A worker process of the engine died, most often because memory ran out.",
                "Run again with fewer processes: --jobs 1.",
            ) from error
        finally:
            executor.shutdown(wait=True, kill_workers=True)


def embedded(settings: Settings, models: Mapping[System, ModelFolder]) -> Engine:
    """Return the engine that a job asks for, with the models that its settings name."""
    return Engine(
        settings.systems,
        settings.matches_wanted,
        settings.jobs,
        models,
        settings.engine,
        settings.explain,
    )


def _answer(
    systems: Sequence[_Asked], texts: Sequence[str], top: int, explain: bool
) -> BatchAnswers:
    """Answer one batch; a text that stands in it several times is ranked once."""
    distinct = list(dict.fromkeys(text for text in texts if text))
    by_text: dict[System, dict[str, Matched]] = {asked[0]: {} for asked in systems}
    for some in portions(distinct):
        # All the systems of some texts before the next, so that what they share is found once.
        for asked in systems:
            found = _matched(ranker(*asked), some, top, explain)
            by_text[asked[0]].update(zip(some, found, strict=True))
    return {system: [found.get(text) for text in texts] for system, found in by_text.items()}


def _matched(ranks: Ranker, texts: Sequence[str], top: int, explain: bool) -> Sequence[Matched]:
    ranked = ranks.rank(texts, top)
    if not explain:
        return [*map(Matched, ranked)]
    best = {text: found[0].code for text, found in zip(texts, ranked, strict=True) if found}
    whys = dict(zip(best, ranks.why(list(best), list(best.values())), strict=True))
    both = zip(texts, ranked, strict=True)
    return [Explained(found, why=whys.get(text, "")) for text, found in both]
