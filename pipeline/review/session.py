"""One sitting: the decisions of a reviewer, each on the disk before the next text is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import RLock
from uuid import uuid4

from pipeline.answers import System
from pipeline.classification.enriched import EnrichedTable
from pipeline.codes import titles
from pipeline.decisions.decision_file import Choice, Decision, DecisionFile, DecisionLog, Key
from pipeline.decisions.decisions import Conflict, Decisions, merged
from pipeline.files.paths import stamp
from pipeline.review.queue import Filters, Item, Queue


@dataclass(frozen=True, slots=True)
class _Action:
    """Decisions that were made together, and are taken back together.

    Attributes:
        about: the system and the text of each decision that has not been taken back.
        batch: their identifier in the decisions file; "" for a single decision.
    """

    about: list[tuple[System, str]]
    batch: str = ""


class Review:
    """A reviewer at work on a table; safe to use from several threads.

    `blind` hides which match is the best; the decisions of `others` are taken over.

    Attributes:
        saved: the decisions that the last action saved; empty after an undo.
        made: how many decisions this sitting has made, without those taken back.
        taken_over: how many decisions of other people were taken over.
        conflicts: where other people decided differently, by system and text.
    """

    def __init__(
        self,
        table: EnrichedTable,
        queue: Queue,
        log: DecisionLog,
        reviewer: str,
        blind: bool = False,
        others: Sequence[DecisionFile] = (),
    ) -> None:
        self.table, self.queue, self.log = table, queue, log
        self.reviewer, self.blind = reviewer, blind
        self.lock = RLock()
        self.saved: Sequence[Decision] = ()
        self.made = 0
        self._opened_as = stamp(table.path)
        own_decisions = merged([log.before])
        together = merged([log.before, *others])
        self.taken_over = self._take_over(own_decisions, together)
        self.conflicts: dict[Key, Conflict] = {
            conflict.decisions[0].key: conflict for conflict in together.conflicts
        }
        self._undoable = _undoable(log.before.decisions, reviewer)
        self._mark(own_decisions, together)

    @property
    def unit(self) -> str:
        """What is counted: with several systems, a text is decided once for each."""
        return "text" if len(self.table.systems) == 1 else "code"

    @property
    def table_changed(self) -> bool:
        """Whether the table was replaced or written since the review began."""
        return stamp(self.table.path) != self._opened_as

    def choose(self, number: int, chosen: str) -> bool:
        """Save what the reviewer chose for a text: a code, ``none`` or ``skip``.

        Return whether it can be chosen.

        Raises:
            OutputError: it cannot be saved.
        """
        with self.lock:
            item = self.queue.item(number)
            if item is None or (decision := self._chosen(item, chosen)) is None:
                return False
            self._save([item], [decision])
            return True

    def accept_all(self, filters: Filters, count: int) -> bool:
        """Choose the best match of all texts that the filters show; return whether that was done.

        It is not if there are not `count` of them, as the reviewer was told.

        Raises:
            OutputError: the decisions cannot be saved; none of them is.
        """
        with self.lock:
            items = list(self.queue.acceptable(filters))
            if len(items) != count:
                return False
            batch = uuid4().hex
            decisions = [
                self._decision(item, "code", item.code, item.title, batch) for item in items
            ]
            self._save(items, decisions)
            return True

    def undo(self) -> Item | None:
        """Take back the last decision of the reviewer, or the last ones made together.

        Returns:
            The text that it was about, the first of several; None if there is nothing to undo.

        Raises:
            OutputError: this cannot be saved; the decision stays.
        """
        with self.lock:
            items: list[Item] = []
            while self._undoable and not items:
                undone = (self.queue.find(*about) for about in self._undoable[-1].about)
                items = [item for item in undone if item is not None]
                if items:
                    self.log.append([self._decision(item, "undo") for item in items])
                self._undoable.pop()
                self.saved = ()
            for item in items:
                self.queue.mark(item, done=False)
            self.made = max(0, self.made - len(items))
            return items[0] if items else None

    def _save(self, items: Sequence[Item], decisions: Sequence[Decision]) -> None:
        if not items:
            return
        self.log.append(decisions)
        for item, decision in zip(items, decisions, strict=True):
            if decision.choice == "skip":
                self.queue.put_off(item)
            else:
                self.queue.mark(item, done=True)
                self.made += 1
        self._undoable.append(_Action([(item.system, item.text) for item in items]))
        self.saved = decisions

    def _chosen(self, item: Item, chosen: str) -> Decision | None:
        match chosen:
            case "none" | "skip":
                return self._decision(item, chosen)
            case code:
                titles_of_system = titles(item.system, self.table.language)
                title = titles_of_system.get(code, item.titles.get(code))
                return None if title is None else self._decision(item, "code", code, title)

    def _decision(
        self, item: Item, choice: Choice, code: str = "", title: str = "", batch: str = ""
    ) -> Decision:
        return Decision(
            system=item.system,
            text=item.text,
            choice=choice,
            by=self.reviewer,
            at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            code=code,
            title=title,
            model=self.table.model,
            best=item.code,
            confidence=item.confidence,
            blind=self.blind,
            batch=batch,
            settles=item.key in self.conflicts and choice in ("code", "none"),
        )

    def _take_over(self, own: Decisions, together: Decisions) -> int:
        """Add to the reviewer's file what others decided, where nobody disagrees."""
        new = [
            decision
            for key, decision in together.by_key.items()
            if key not in own.by_key or own.by_key[key].outcome != decision.outcome
        ]
        if new:
            self.log.append(new)
        return len(new)

    def _mark(self, own: Decisions, together: Decisions) -> None:
        for decision in together.by_key.values():
            if item := self.queue.find(decision.system, decision.text):
                self.queue.mark(item, done=True)
        for conflict in together.conflicts:
            decision = conflict.decisions[0]
            if item := self.queue.find(decision.system, decision.text):
                self.queue.mark_conflict(item)
        for decision in self.log.before.decisions:
            if decision.key in own.skipped and (
                item := self.queue.find(decision.system, decision.text)
            ):
                self.queue.put_off(item)


def _undoable(decisions: Iterable[Decision], reviewer: str) -> list[_Action]:
    """Return what the reviewer did in earlier sittings and has not taken back, the last at the end.

    Decisions that were made together are one action.
    """
    actions: list[_Action] = []
    for decision in decisions:
        about = (decision.system, decision.text)
        if decision.choice == "undo":
            if last := next((each for each in reversed(actions) if about in each.about), None):
                last.about.remove(about)
        elif decision.by == reviewer:
            if decision.batch and actions and actions[-1].batch == decision.batch:
                actions[-1].about.append(about)
            else:
                actions.append(_Action([about], decision.batch))
    return [action for action in actions if action.about]
