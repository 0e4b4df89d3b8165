"""What a job will do and what it did: figures for programs, and a few lines for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from pipeline.answers import BANDS, LIKELY, Band, System
from pipeline.cache import Cache
from pipeline.classification.text_columns import have_words
from pipeline.errors import NoMatchError
from pipeline.files.paths import AnyPath
from pipeline.money import ZERO, plain, total
from pipeline.purchases import Estimate, Paid, Parked
from pipeline.tables.table import Batch
from pipeline.wording import (
    RETRY,
    RUN_AGAIN,
    THEN_RUN_AGAIN,
    Words,
    aligned,
    both,
    command,
    how_many,
    option,
)


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """What a job will do, cost and take.

    Attributes:
        rows: rows in the table.
        empty: rows without text; they are not classified.
        wordless: rows whose text has no words, only numbers, dates or codes.
        purchase: the calls to buy, what they cost and how long they take.
    """

    rows: int
    empty: int
    wordless: int = 0
    purchase: Estimate = field(default_factory=Estimate)

    @property
    def worded(self) -> int:
        """Rows whose text has words."""
        return self.rows - self.empty - self.wordless

    @property
    def rows_line(self) -> str:
        """How many rows the table has, as a line for people."""
        return f"{how_many(self.rows, 'row')}, {self.empty:,} without text"

    @property
    def row_counts(self) -> dict[str, int]:
        """The counts of rows, as JSON types."""
        return {"rows": self.rows, "empty": self.empty, "wordless": self.wordless}

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON types; money as text."""
        return {**self.row_counts, **self.purchase.to_dict()}

    def then(self, later: Plan) -> Plan:
        """Return the plan of this job and a later one, under the same cost limits."""
        return Plan(
            self.rows + later.rows,
            self.empty + later.empty,
            self.wordless + later.wordless,
            self.purchase.then(later.purchase),
        )

    def __str__(self) -> str:
        return f"{self.rows_line}\n{self.purchase}"

    def __repr__(self) -> str:
        return str(self)  # notebooks show a result in this way

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> Plan:
        """Count the rows of a table by reading all of it; the plan buys nothing yet.

        Raises:
            InputError: the table is ragged, undecodable or damaged.
        """
        rows = empty = wordless = 0
        worded = Cache(have_words)
        for batch in batches:
            rows += len(batch.texts)
            texts = [text for text in batch.texts if text]
            empty += len(batch.texts) - len(texts)
            wordless += worded(texts).count(False)
        return cls(rows, empty, wordless)


COMPLETE, WITH_FAILED_ROWS = 0, NoMatchError.exit_code
"""The exit codes of a job whose table is written."""

NOT_FAILED = ("ok", "review", "no_match", "decided", "empty", "pending")
"""The statuses that are not failures."""

SETTLED = ("ok", "decided", "empty", "pending")
"""The statuses that need no look, or cannot have one yet."""

AGAIN = f"{RUN_AGAIN} again; if that buys nothing, with {RETRY}."

REMEDIES = {
    "VALIDATION_ERROR": "The service refuses these texts. Shorten or correct them in the table.",
    "HTTP_413": "The texts are too long for the service or a proxy. Shorten them in the table.",
    "HTTP_422": "The service or a proxy cannot process these texts. Correct them in the table.",
    "TIMEOUT": f"No answer came in time. {AGAIN} Raise {option('timeout')} if it recurs.",
    "CONNECTION_ERROR": f"The connection failed. {AGAIN}",
    "MALFORMED_RESPONSE": "The answers cannot be read. Ask the service's operator, then run again "
    f"with {RETRY}.",
    "UNCONFIRMED": "The answers were lost, and may have been billed. Compare them with the "
    f"account's statement ({{attempts}}), or buy them again with {RETRY}.",
    "RATE_LIMIT_EXCEEDED": f"The rate limit was reached. {RUN_AGAIN} again later, or with a lower "
    f"{option('rate')}.",
    "INTERNAL_ERROR": f"The service failed. {AGAIN}",
}

NO_ANSWER = (
    f"The responses are not the service's. Check {option('base_url')} and any proxy, then "
    f"{THEN_RUN_AGAIN} again."
)
REFUSED = f"The service refuses these. Ask its operator, then run again with {RETRY}."

NO_OUTPUT = "No output was written."
SO_FAR = f"To write the table so far, use {option('partial', True)}."

TABLE_IS_WRITTEN = both(
    "The table was written all the same", "The error's result has the table all the same"
)
NAME_THE_TEXT = (
    f"{TABLE_IS_WRITTEN}. Check that {option('text_columns')} names the columns "
    f"that describe what is bought, or raise {option('fail_if_no_match')}."
)


Counted = TypeVar("Counted")


def _add_counts(one: Mapping[Counted, int], other: Mapping[Counted, int]) -> dict[Counted, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}


@dataclass(frozen=True, slots=True)
class SystemSummary:
    """The figures of one system.

    Attributes:
        statuses: the number of rows with each status.
        cost_usd: what this job paid, in US dollars.
        confidences: the number of best matches by their confidence in hundredths, rounded.
        bands: the number of best matches in each band; codes that people chose are in none.
    """

    statuses: Mapping[str, int] = field(default_factory=dict)
    cost_usd: Decimal = ZERO
    confidences: Mapping[int, int] = field(default_factory=dict, repr=False)
    bands: Mapping[Band, int] = field(default_factory=dict)

    def __add__(self, other: SystemSummary) -> SystemSummary:
        return SystemSummary(
            statuses=_add_counts(self.statuses, other.statuses),
            confidences=_add_counts(self.confidences, other.confidences),
            bands=_add_counts(self.bands, other.bands),
            cost_usd=total([self.cost_usd, other.cost_usd]),
        )

    @property
    def kinds(self) -> dict[str, int]:
        """The rows by what their codes are worth, in words for people."""
        statuses = self.statuses
        return {
            **{band: self.bands.get(band, 0) for band in BANDS},
            "no match": statuses.get("no_match", 0),
            "decided": statuses.get("decided", 0),
            "no text": statuses.get("empty", 0),
            "pending": statuses.get("pending", 0),
            "failed": self.failed,
        }

    @property
    def to_check(self) -> int:
        """Rows without a code in this system, or with an uncertain one."""
        return sum(rows for name, rows in self.statuses.items() if name not in SETTLED)

    @property
    def with_text(self) -> int:
        """Rows with text and an answer, or an error."""
        statuses = self.statuses
        return sum(statuses.values()) - statuses.get("empty", 0) - statuses.get("pending", 0)

    @property
    def failed(self) -> int:
        """Rows whose call failed permanently, with any error."""
        return sum(count for name, count in self.statuses.items() if name not in NOT_FAILED)

    @property
    def median_confidence(self) -> float | None:
        """The median confidence of the best matches, to two places; None without any."""
        seen, half = 0, sum(self.confidences.values()) / 2
        for hundredths, rows in sorted(self.confidences.items()):
            seen += rows
            if seen >= half:
                return hundredths / 100
        return None


@dataclass(frozen=True, slots=True, repr=False)
class Summary:
    """What a job did.

    Attributes:
        rows: rows in the output.
        systems: figures by system, in the order of the columns.
        cost_usd: the total that the job paid, in US dollars.
        seconds: how long the job took.
        output: the file or the object of the enriched table; None if it is in memory.
        replaced_characters: characters in new columns that the encoding lacks, written as "?".
        paid: what the job bought; None for the embedded engine.
        parked: why the run stopped early; None if it is complete.
        to_check: rows to review: at least one system has the status ``review``,
            ``no_match`` or an error.
        ledger: the ledger of what the job bought; None if it bought nothing.
    """

    rows: int
    systems: Mapping[System, SystemSummary]
    cost_usd: Decimal
    seconds: float
    output: AnyPath | None = None
    replaced_characters: int = 0
    paid: Paid | None = None
    parked: Parked | None = None
    to_check: int = 0
    ledger: Path | None = None

    @property
    def kinds(self) -> list[str]:
        """The kinds of rows that there are in any system."""
        counts = [figures.kinds for figures in self.systems.values()]
        names = counts[0] if counts else ()
        return [kind for kind in names if any(count[kind] for count in counts)]

    @property
    def review_command(self) -> str | None:
        """The command that shows the rows to check; None without any, or without a local file."""
        output = self.output
        if not self.to_check or self.parked or not isinstance(output, Path) or output.is_dir():
            return None
        return command("review", output)

    @property
    def doubtful_under(self) -> float | None:
        """The confidence under which codes are doubtful; None if none is."""
        doubtful = any(system.bands.get("doubtful") for system in self.systems.values())
        return LIKELY if doubtful else None

    def too_few_matches(self, share: float | None) -> NoMatchError | None:
        """Return an error if more than this share of a system's rows with text has no match.

        If no row has a text, that is as if none had a match: perhaps it is the wrong column.
        """
        if share is None:
            return None
        for figures in self.systems.values():
            empty = figures.statuses.get("empty", 0)
            if share < 1 and empty and empty == sum(figures.statuses.values()):
                return NoMatchError(f"None of {how_many(empty, 'row')} has a text.", NAME_THE_TEXT)
        too_few = [
            f"{figures.statuses['no_match']:,} of {figures.with_text:,} rows ({name})"
            for name, figures in self.systems.items()
            if figures.statuses.get("no_match", 0) > share * figures.with_text
        ]
        if not too_few:
            return None
        return NoMatchError(f"Too many rows have no match: {', '.join(too_few)}.", NAME_THE_TEXT)

    def exit_code(self, share: float | None) -> int:
        """Return the exit code of the job; ``share`` is as for `too_few_matches`."""
        if self.parked:
            return self.parked.exit_code
        is_complete = not (self.failed or self.too_few_matches(share))
        return COMPLETE if is_complete else WITH_FAILED_ROWS

    @property
    def pending(self) -> int:
        """Calls of all systems that the run did not reach."""
        return sum(system.statuses.get("pending", 0) for system in self.systems.values())

    @property
    def failed(self) -> int:
        """Failed calls of all systems; pending ones count too, unless the job parked."""
        failed = sum(system.failed for system in self.systems.values())
        return failed if self.parked else failed + self.pending

    @property
    def failures(self) -> Counter[str]:
        """How many rows of all systems have a failed call, by its error type."""
        statuses = sum(
            (Counter(system.statuses) for system in self.systems.values()), Counter[str]()
        )
        return Counter({kind: n for kind, n in statuses.items() if kind not in NOT_FAILED})

    def remedy(self, kind: str) -> Words:
        """Return what to do about rows whose call failed with an error type."""
        if kind.startswith("HTTP_5") or kind in ("HTTP_408", "HTTP_425"):
            kind = "INTERNAL_ERROR"
        attempts = command("ledger attempts --state unconfirmed --ledger", self.ledger or "PATH")
        what = REMEDIES.get(kind, NO_ANSWER if kind.startswith("HTTP_") else REFUSED)
        return Words(what.format(attempts=attempts))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON types; money as text."""
        return {
            "rows": self.rows,
            "systems": {
                name: {
                    **dict.fromkeys(NOT_FAILED, 0),
                    **system.statuses,
                    "failed": system.failed,
                    "median_confidence": system.median_confidence,
                    "cost_usd": plain(system.cost_usd),
                }
                for name, system in self.systems.items()
            },
            "cost_usd": plain(self.cost_usd),
            "seconds": round(self.seconds, 3),
            "output": None if self.output is None else str(self.output),
            "replaced_characters": self.replaced_characters,
            "to_check": self.to_check,
            "paid": self.paid and self.paid.to_dict(),
            "parked": self.parked and asdict(self.parked),
        }

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def text(self, width: int | None = None, notes: Sequence[str] = ()) -> str:
        """Return the figures for people.

        Args:
            width: the columns of the terminal; None for any.
            notes: lines that explain the table.
        """
        table = self._table() if self.rows else []
        if table and width is not None and max(map(len, table)) > width:
            table = self._without_columns()
        lines = [*table, *notes, *self._closing()]
        if self.parked is None:
            return "\n".join(lines)
        if any(system.statuses for system in self.systems.values()):
            return "\n".join([*lines, str(self.parked)])
        ending = NO_OUTPUT if self.parked.is_declined else Words(f"{NO_OUTPUT} {SO_FAR}")
        return "\n".join([*map(str, filter(None, [self.paid])), str(self.parked), ending])

    def _without_columns(self) -> list[str]:
        """Return a line for each system, for a terminal that is too narrow for the table."""
        lines = []
        for name, figures in self.systems.items():
            parts = [f"{rows:,} {kind}" for kind, rows in figures.kinds.items() if rows]
            if figures.to_check:
                parts.append(f"{figures.to_check:,} to check")
            if self.paid or self.cost_usd:
                parts.append(f"{plain(figures.cost_usd)} USD")
            lines.append(f"{name}: {', '.join(parts)}")
        return lines

    def _table(self) -> list[str]:
        cells = {
            kind: [f"{figures.kinds[kind]:,}" for figures in self.systems.values()]
            for kind in self.kinds
        }
        if any(figures.to_check for figures in self.systems.values()):
            cells["to check"] = [f"{figures.to_check:,}" for figures in self.systems.values()]
        if self.paid or self.cost_usd:
            cells["USD"] = [plain(figures.cost_usd) for figures in self.systems.values()]
        rows = [*zip(self.systems, *cells.values(), strict=True)]
        return [*aligned(["system", *cells], rows, numbers=len(cells), gap=3)]

    def _closing(self) -> list[str]:
        rate = self.rows / self.seconds if self.seconds else 0.0
        rows = how_many(self.rows, "row")
        lines = [f"{rows} in {self.seconds:.1f} s ({rate:,.0f} rows/s), {plain(self.cost_usd)} USD"]
        if self.replaced_characters:
            lines.append(
                f"{self.replaced_characters:,} characters of titles are not in the file's "
                'encoding and became "?"'
            )
        if self.paid:
            lines.append(str(self.paid))
        what = "output so far" if self.parked else "output"
        return [*lines, f"{what}: {self.output}"] if self.output else lines


def combine(summaries: Sequence[Summary]) -> Summary:
    """Return the figures of several jobs together, of which only the last may have stopped."""
    names = summaries[0].systems
    return Summary(
        rows=sum(summary.rows for summary in summaries),
        systems={
            name: sum((each.systems[name] for each in summaries), SystemSummary()) for name in names
        },
        cost_usd=total(summary.cost_usd for summary in summaries),
        seconds=sum(summary.seconds for summary in summaries),
        replaced_characters=sum(summary.replaced_characters for summary in summaries),
        paid=Paid.together([summary.paid for summary in summaries if summary.paid]),
        parked=summaries[-1].parked,
        to_check=sum(summary.to_check for summary in summaries),
        ledger=summaries[-1].ledger,
    )
