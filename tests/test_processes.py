"""Work in several processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.errors import EngineError
from pipeline.processes import as_they_end


def test_every_item_has_its_result_and_an_item_is_read_when_it_can_start() -> None:
    read = list[int]()

    def items() -> Iterator[int]:
        for number in range(-5, 0):
            read.append(number)
            yield number

    found = as_they_end(abs, items(), 2, "A process")
    first = next(found)
    assert len(read) < 5
    assert sorted([first, *found]) == [1, 2, 3, 4, 5]


def test_a_process_that_dies_is_an_error() -> None:
    with pytest.raises(EngineError, match=r"^A process died") as caught:
        list(as_they_end(exec, ["import os; os._exit(1)"], 1, "A process"))
    assert "--jobs 1" in caught.value.hint
