"""A model whose folder is damaged is refused in one sentence; a strange one answers."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.codes import load
from pipeline.engine.model import load_model, model_folder, opened, save
from pipeline.engine.model.acceptance import LEAVES, LENGTHS, TRAITS
from pipeline.engine.model.model import Model
from pipeline.engine.model.ranker import LearnedRanker
from pipeline.engine.model.serialization import OF_SYSTEM, check
from pipeline.errors import SettingsError
from tests.engine.model.spoiling import (
    Spoil,
    a_folder,
    an_archive,
    cut,
    element,
    file,
    linked,
    moved,
    not_of_system,
    of_system,
    pickled,
    pipe,
    rewritten,
    said,
    unsaid,
    with_header,
    without,
    written,
)
from tests.engine.model.training_data import taught

pytestmark = pytest.mark.usefixtures("impatient")

TEXTS = ["wheat grain barley", "wheat", "cleaning of office windows", "жюфц", "", "paving " * 300]


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "whole"
    save([taught().model], folder, {})
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "model"))


HEADER = "{'descr': '|u1', 'fortran_order': False, 'shape': %s, }"
PLACES, PRIOR = "encoder.places.npy", "cpv.prior.npy"

SPOILT: dict[str, Spoil] = {
    # What the folder says of itself.
    "torn": written('{"kind": "tender-pipeline model", "form": 2, "sys'),
    "objects nested deeply": written('{"a":' * 200_000),
    "no object": written("[1, 2]"),
    "not UTF-8": written(b'{"kind": "\xff"}'),
    "another kind": said("kind", "recipe"),
    "no form": unsaid("form"),
    "form a text": said("form", "2"),
    "form huge": said("form", 10**400),
    "no systems": unsaid("systems"),
    "systems a list": said("systems", ["cpv"]),
    "a system unknown": said("systems", {"\ud800": {}}),
    "values a list": said("systems", {"cpv": [1]}),
    "no arrays": unsaid("arrays"),
    "a checksum a number": said("arrays", {"cpv.codes": 5}),
    "json a pipe": file("model.json", pipe),
    "json a loop of links": file("model.json", linked("model.json")),
    "json a device": file("model.json", linked("/dev/zero")),
    "json gone": file("model.json", Path.unlink),
    # The values of a system.
    "no trust": not_of_system("trust"),
    "spread null": of_system("spread", None),
    # The files of the arrays.
    "array a pipe": file(PLACES, pipe),
    "array a folder": file(PLACES, a_folder),
    "array a dangling link": file(PLACES, linked("nowhere")),
    "array a device": file(PLACES, linked("/dev/zero")),
    "array gone": file(PLACES, Path.unlink),
    "array cut": file(PLACES, cut),
    "array an archive": file(PLACES, an_archive),
    "array pickled": file(PLACES, pickled),
    "header nested": file(PLACES, with_header("(" * 60_000)),
    "header code": file(PLACES, with_header("__import__('os').abort()")),
    "header of objects": file(PLACES, with_header("{'descr': '|O', 'shape': (9,), }")),
    "shape huge": file(PLACES, with_header(HEADER % "(999999999999, 999999999999)")),
    "shape negative": file(PLACES, with_header(HEADER % "(-1, 64)")),
    "changed": file(PRIOR, lambda p: p.write_bytes(p.read_bytes()[:-4] + bytes(4))),
    "no codes": without("cpv.codes"),
    # What an honest program would not write, with the right checksums.
    "systems empty": said("systems", {}),
    "trust NaN": of_system("trust", float("nan")),
    "calibration short": of_system("calibration", [1.0, 2.0]),
    "calibration huge": of_system("calibration", [1e308, 1e308, 1e308, 1e308]),
    "calibration a huge integer": of_system("calibration", [10**400, 0, 0, 0]),
    "codes none": rewritten("cpv.codes", lambda a: a[:0]),
    "codes one less": rewritten("cpv.codes", lambda a: a[:-1]),
    "codes numbers": rewritten("cpv.codes", lambda a: np.arange(len(a))),
    "codes twice": element("cpv.codes", 0, b"45233140"),
    "directions flat": rewritten("cpv.directions", lambda a: a.ravel()),
    "scales infinite": element("cpv.direction_scales", 0, np.inf),
    "prior a number": rewritten("cpv.prior", lambda a: a[0]),
    "centres none": rewritten("encoder.centres", lambda a: a[:, :, :0]),
    "features of no memory": rewritten("encoder.features", lambda _: np.empty((10**12, 0), "u1")),
    "repeats shorter": rewritten("cpv.repeat_seen", lambda a: a[1:]),
    "a repeat of no code": element("cpv.repeat_codes", 0, b"99999999"),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT.keys())
def test_a_model_that_is_not_as_training_writes_it_is_refused_in_a_sentence(
    folder: Path, spoil: Spoil
) -> None:
    spoil(folder)
    with pytest.raises(SettingsError) as caught:
        opened([str(folder)], ["cpv"])
    assert caught.value.exit_code == 2
    assert str(folder) in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < len(str(folder)) + 200
    assert "tender-pipeline train" in caught.value.hint
    str(caught.value).encode("utf-8")


def answer(model: Model) -> None:
    """Ask a model, and see that each answer is one."""
    ranks = LearnedRanker(model, load("cpv"), no_titles)
    for found in ranks.rank(TEXTS, 3):
        assert all(0 <= match.confidence <= 1 for match in found)
    best = [found[0].code if found else "" for found in ranks.rank(TEXTS, 1)]
    assert len(ranks.why(TEXTS, best)) == len(TEXTS)


class Titleless:
    def rank(self, texts: Any, top: int) -> Any:
        return [()] * len(texts)

    def why(self, texts: Any, codes: Any) -> Any:
        return [""] * len(texts)


def no_titles() -> Titleless:
    return Titleless()


EXTREME: dict[str, Spoil] = {
    "files that are not the model's": lambda folder: os.mkfifo(folder / "cpv.more.npy"),
    "a link to an array": file(PRIOR, moved),
    "no repeats": lambda folder: [
        rewritten(f"cpv.repeat_{name}", lambda a: a[:0])(folder)
        for name in ("hashes", "codes", "usual", "seen")
    ],
    "one code": lambda folder: [
        rewritten("cpv.repeat_codes", lambda a: np.full_like(a, b"03111000"))(folder),
        *(
            rewritten(f"cpv.{name}", lambda a: a[:1])(folder)
            for name in ("codes", "directions", "direction_scales", "prior")
        ),
    ],
    "codes of no table": rewritten("cpv.codes", lambda a: np.array([b"A", b"B", b"0"], "S8")),
}


@pytest.mark.parametrize("spoil", EXTREME.values(), ids=EXTREME.keys())
def test_a_model_that_is_strange_but_sound_answers(folder: Path, spoil: Spoil) -> None:
    if spoil is EXTREME["codes of no table"]:
        rewritten("cpv.repeat_codes", lambda a: np.full_like(a, b"A"))(folder)
    spoil(folder)
    answer(load_model(model_folder(folder), "cpv"))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("word_codes", np.array([0, 2], np.uint16)),
        ("word_lengths", np.array([1, 2], np.uint8)),
        ("word_lengths", np.array([0, 1, 0, 1], np.uint8)),
        ("word_scales", np.array([1, np.nan], np.float32)),
        ("tree_features", np.full((1, LEAVES - 1), TRAITS, np.uint8)),
        ("tree_leaves", np.zeros((2, LEAVES), np.int16)),
        ("rates", np.zeros((3, len(LENGTHS)), np.float16)),
    ],
)
def test_arrays_that_would_be_read_out_of_bounds_are_no_judge(name: str, array: Any) -> None:
    sound = {
        "codes": np.array([b"03111000", b"45233140"], "S8"),
        "repeat_codes": np.array([], "S8"),
        "word_lengths": np.array([1, 1], np.uint8),
        "word_codes": np.array([0, 1], np.uint16),
        "word_scales": np.ones(2, np.float32),
        "tree_features": np.full((1, LEAVES - 1), TRAITS - 1, np.uint8),
        "tree_leaves": np.zeros((1, LEAVES), np.int16),
        "rates": np.zeros((2, len(LENGTHS)), np.float16),
    }
    check(sound, OF_SYSTEM, {"features": 3})
    with pytest.raises(ValueError, match=name):
        check(sound | {name: array}, OF_SYSTEM, {"features": 3})
