"""All decisions that are given: merged from files, put in the place of answers, used as labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from pipeline.answers import Answer, BatchAnswers, Decided, Match, Matched, System
from pipeline.codes import load
from pipeline.decisions.decision_file import Decision, DecisionFile, Key, text_key
from pipeline.errors import InputError
from pipeline.wording import command, readable

SHOWN = 5
"""Conflicts that a warning lists."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Different decisions about one text in one system.

    Attributes:
        decisions: one of each file that has one.
    """

    decisions: tuple[Decision, ...]

    def __str__(self) -> str:
        first = self.decisions[0]
        sides = "; ".join(
            f"{readable(decision.by)}: {decision.outcome}" for decision in self.decisions
        )
        return f"{first.system} {readable(first.text, 60)!r}: {sides}"


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions by what they are about.

    Attributes:
        by_key: the decisions, without those that were taken back.
        skipped: what was put off and not decided.
        conflicts: where files disagree; neither decision is in `by_key`.
        files: the SHA-256 of each file, by its path.
        warnings: what to tell the user about the files.
        counts: how many codes of tables a person changed, confirmed, ...
    """

    by_key: Mapping[Key, Decision] = field(default_factory=dict)
    skipped: frozenset[Key] = frozenset()
    conflicts: Sequence[Conflict] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.by_key)

    def of(self, system: System, text: str) -> Decision | None:
        """Return the decision about a text."""
        return self.by_key.get((system, text_key(text)))

    def about(self, system: System) -> Iterator[Decision]:
        """Yield the decisions about a system, in the order in which they were made."""
        return (decision for (of, _), decision in self.by_key.items() if of == system)


NO_DECISIONS = Decisions()


def merged(files: Sequence[DecisionFile]) -> Decisions:
    """Merge the decisions of files.

    In one file, the last decision about a text counts. If files disagree, a decision that settled
    the conflict counts, provided that it was made last; otherwise none of them does.
    """
    sides: dict[Key, list[Decision]] = defaultdict(list)
    skipped = set[Key]()
    for file in files:
        current, put_off = _current(file.decisions)
        skipped |= put_off
        for key, decision in current.items():
            sides[key].append(decision)
    by_key: dict[Key, Decision] = {}
    conflicts: list[Conflict] = []
    for key, decisions in sides.items():
        agreed = _agreed(decisions)
        if agreed is None:
            conflicts.append(Conflict(tuple(decisions)))
        else:
            by_key[key] = agreed
    return Decisions(
        by_key=by_key,
        skipped=frozenset(skipped - sides.keys()),
        conflicts=conflicts,
        files={str(file.path): file.sha256 for file in files},
        warnings=[*filter(None, (file.warning for file in files)), *_about(conflicts, files)],
        counts=dict(sum((Counter(file.counts) for file in files), Counter[str]())),
    )


def _current(decisions: Iterable[Decision]) -> tuple[dict[Key, Decision], set[Key]]:
    """Return the decisions that count, and what was only put off."""
    current: dict[Key, Decision] = {}
    put_off = set[Key]()
    for decision in decisions:
        key = decision.key
        match decision.choice:
            case "skip":
                put_off.add(key)
            case "undo":
                put_off.discard(key)
                current.pop(key, None)
            case _:
                current[key] = decision
    return current, put_off - current.keys()


def _agreed(decisions: Sequence[Decision]) -> Decision | None:
    """Return the decision that counts; None if they disagree."""
    if len({(decision.choice, decision.code) for decision in decisions}) == 1:
        return decisions[0]
    last = max(decisions, key=lambda decision: decision.at)
    return last if last.settles else None


def _about(conflicts: Sequence[Conflict], files: Sequence[DecisionFile]) -> Iterator[str]:
    if not conflicts:
        return
    texts = "1 text has" if len(conflicts) == 1 else f"{len(conflicts):,} texts have"
    yield f"{texts} different decisions, and none of them is used:"
    yield from (f"  {conflict}" for conflict in conflicts[:SHOWN])
    if len(conflicts) > SHOWN:
        yield f"  and {len(conflicts) - SHOWN:,} more"
    merge = (word for file in files for word in ("--merge", file.path))
    yield f"Settle them: {command('review OUTPUT', *merge)}"


def decided(decisions: Decisions, texts: Sequence[str], answers: BatchAnswers) -> BatchAnswers:
    """Return the answers for some texts as people decided, and as they are where nobody has."""
    return {
        system: [
            answer and _decided(decisions.of(system, text), answer)
            for text, answer in zip(texts, system_answers, strict=True)
        ]
        for system, system_answers in answers.items()
    }


def _decided(decision: Decision | None, answer: Answer) -> Answer:
    """Return the answer of a decision, which costs what the answer that it replaces has cost."""
    if decision is None:
        return answer
    why = f"decided by {decision.by}"
    if decision.choice == "none":
        return Decided((), answer.cost_usd, why)
    title = load(decision.system).titles.get(decision.code, decision.title)
    matches = answer.matches if isinstance(answer, Matched) else ()
    other_matches = (match for match in matches if match.code != decision.code)
    return Decided((Match(decision.code, title, 1.0), *other_matches), answer.cost_usd, why)


TEXT_COLUMN, CODE_COLUMN = "description", "code"
"""The columns of `label_table`."""


class DecidedLabels:
    """The labels of a history, corrected and completed by decisions."""

    def __init__(self, decisions: Decisions, system: System) -> None:
        self._left = {text_key(decision.text): decision for decision in decisions.about(system)}
        self._decisions = decisions
        self._system = system

    def corrected(self, texts: Sequence[str], codes: Sequence[str]) -> list[str]:
        """Return the codes of a history's rows, or the decided ones; "" where none fits."""
        return [self._code(text, code) for text, code in zip(texts, codes, strict=True)]

    def rest(self) -> tuple[list[str], list[str]]:
        """Return the texts and codes of the decisions that the history does not have."""
        chosen = [decision for decision in self._left.values() if decision.code]
        return [decision.text for decision in chosen], [decision.code for decision in chosen]

    def _code(self, text: str, code: str) -> str:
        decision = self._decisions.of(self._system, text) if text else None
        if decision is None:
            return code
        self._left.pop(text_key(text), None)
        return decision.code


def label_table(decisions: Decisions, system: System) -> pa.Table:
    """Return the decided texts of a system with their codes, as a labelled table.

    The code is "" for a text that no code fits. Decisions of many rows at once are left out: their
    codes are the matcher's, so they cannot measure it.

    Raises:
        InputError: none is left.
    """
    about = list(decisions.about(system))
    usable = [decision for decision in about if not decision.batch]
    if not usable:
        made = "were made together with others" if about else "there is none"
        raise InputError(
            f"No decision about {system} can be used as a label: {made}.",
            "Review some texts one by one, in the blind mode of tender-pipeline review.",
        )
    columns = {
        TEXT_COLUMN: [decision.text for decision in usable],
        CODE_COLUMN: [decision.code for decision in usable],
    }
    return pa.table(columns)
