from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from types import SimpleNamespace

import pytest
from tqdm.std import tqdm

import pipeline
from pipeline import progress


@pytest.mark.parametrize(
    ("clock", "total", "done", "said"),
    [
        (
            [0.0, 1.0, 11.0, 12.0, 21.5],
            1_000,
            [100] * 4,
            [
                "200 of 1,000 rows, 18 rows/s, 44 s left",
                "400 of 1,000 rows, 19 rows/s, 32 s left",
            ],
        ),
        ([0.0, 11.0], 100, [110], ["110 of 100 rows, 10 rows/s, 0 s left"]),  # an estimate
        ([0.0, 10.0], 100_000, [4_000], ["4,000 of 100,000 rows, 400 rows/s, 4 min left"]),
        ([0.0, 11.0, 12.0], 24, [0, 12], ["12 of 24 rows, 1 rows/s, 12 s left"]),
    ],
)
def test_log_lines_come_now_and_then_with_rate_and_time_left(
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    clock: list[float],
    total: int,
    done: list[int],
    said: list[str],
) -> None:
    times = iter(clock)
    monkeypatch.setattr("pipeline.progress.time.monotonic", lambda: next(times))
    with caplog.at_level(logging.INFO), progress.log_lines(total) as advance:
        for rows in done:
            advance(rows)
    assert caplog.messages == said


def test_the_bar_of_a_large_purchase_fits_80_columns_with_its_time_left() -> None:
    note = "1,025 of 11,800 rows, 100 calls/min, 0.1033125 USD, 2 h left"
    shape = progress.BAR_FORMATS["calls"]
    line = tqdm.format_meter(1234, 11530, 60, ncols=80, bar_format=shape, postfix=note)
    assert line.endswith(f" 1234/11530 calls, {note}")
    assert len(line) == 80


class Bar(list[int]):
    """A display of the user's own, which is not tqdm although it has an `update`."""

    last: Bar

    def __init__(self, total: int) -> None:
        super().__init__([total])
        Bar.last = self

    def __enter__(self) -> Callable[[int], None]:
        return self.update

    def __exit__(self, *_: object) -> None:
        """Stay as it is."""

    def update(self, done: int) -> None:
        self.append(done)


def test_a_display_of_the_users_own_may_be_a_class_with_any_methods() -> None:
    with progress.display_for(Bar)(30) as advance:
        advance(10)
    assert Bar.last == [30, 10]


def test_a_display_of_the_package_keeps_its_notes_and_its_unit() -> None:
    for display in (progress.bar, progress.log_lines, progress.silent):
        assert progress.display_for(display) is display


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in the cell of a notebook."""
    shell = SimpleNamespace(kernel=1)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


@pytest.mark.parametrize(("moment", "shows"), [(0.0, True), (3600.0, False)])
def test_a_notebook_shows_a_bar_of_a_job_that_takes_longer_than_a_moment(
    cell: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    moment: float,
    shows: bool,
) -> None:
    monkeypatch.setattr(progress, "MOMENT", moment)
    with progress.display_for("auto")(3_000) as advance:
        advance(1_000)
        advance(2_000)
    assert ("3000/3000" in capsys.readouterr().err) == shows
    monkeypatch.delitem(sys.modules, "IPython")
    with progress.display_for("auto")(30) as advance:
        advance(30)
    assert capsys.readouterr() == ("", "")


def test_the_bar_of_an_interrupted_job_says_how_far_it_came(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(KeyboardInterrupt), progress.display_for(True)(50, "calls") as advance:
        advance(12, "0.30 USD, 40 s left")
        raise KeyboardInterrupt
    assert "12/50 calls, 0.30 USD, 40 s left" in capsys.readouterr().err


def test_a_display_may_be_a_bar_of_tqdm_whose_update_returns_something() -> None:
    seen: list[float] = []

    @contextmanager
    def shown(total: int) -> Iterator[Callable[[int], object]]:
        with tqdm(total=total, file=StringIO()) as drawn:
            yield drawn.update
            seen.append(drawn.n)

    pipeline.classify(["Road works", "Chairs"], systems="psc", progress=shown)
    assert seen == [2]
