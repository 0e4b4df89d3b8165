"""Runs contenders in turn, each a process of its own, and shows their medians."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from markupsafe import Markup

from pipeline.charts import Bar, bars, environment

OURS = "tender-pipeline"

STYLE = """
.turns { width: 100%; color: var(--color-foreground-primary); font: 12.5px sans-serif; }
.turns text { fill: currentColor; } .turns .value { font-weight: 600; }
.turns .grid { stroke: currentColor; opacity: .2; }
.turns .fill { fill: #b5551c; } .turns .a .fill { fill: #0e8a86; }
.turns .mid, .turns .light, .turns .halo { display: none; }
.turns .whisker { fill: none; stroke: currentColor; stroke-width: 1.4; }
"""
"""How a picture looks, by itself or in a page of the documentation."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One process: its duration and processor time in seconds, and its peak memory in MiB."""

    seconds: float
    cpu: float
    memory: float


@dataclass(frozen=True, slots=True)
class Result:
    """The medians of a contender.

    Attributes:
        rows_per_second: rows by the duration of the whole process.
        cpu_us: processor time of a row, microseconds.
        memory_mib: peak memory.
        ours_is: how many times as fast this tool was in the same round; 1 for itself.
        lowest, highest: rows a second in the slowest and the fastest round.
    """

    rows_per_second: float
    cpu_us: float
    memory_mib: float
    ours_is: float
    lowest: float
    highest: float


def order(names: Sequence[str], round_number: int) -> list[str]:
    """Return the contenders in the order of a round: each begins one round in turn."""
    start = round_number % len(names)
    return [*names[start:], *names[:start]]


def results(rounds: Sequence[Mapping[str, Turn]], rows: int) -> dict[str, Result]:
    """Return the medians of each contender over the rounds."""
    found = {}
    for name in rounds[0]:
        turns = [turns[name] for turns in rounds]
        speeds = [rows / turn.seconds for turn in turns]
        found[name] = Result(
            rows_per_second=statistics.median(speeds),
            cpu_us=statistics.median(turn.cpu / rows * 1e6 for turn in turns),
            memory_mib=statistics.median(turn.memory for turn in turns),
            ours_is=statistics.median(
                turns[name].seconds / turns[OURS].seconds for turns in rounds
            ),
            lowest=min(speeds),
            highest=max(speeds),
        )
    return found


def installed(needed: Mapping[str, str]) -> list[str]:
    """Return the contenders whose libraries are installed, this tool first.

    Args:
        needed: the module that each other contender needs.
    """
    found = [name for name, module in needed.items() if importlib.util.find_spec(module)]
    for name in needed.keys() - found:
        print(f"{name} is left out: it needs the module {needed[name]}")
    return [OURS, *found]


def turn(command: Sequence[str], **environ: str) -> Turn:
    """Run ``python -m COMMAND`` to its end.

    It keeps its bytecode even if ``PYTHONDONTWRITEBYTECODE`` is set here: otherwise each start
    would compile the package, which users do not have.
    """
    launcher = [sys.executable, "-I", "-S", str(Path(__file__).with_name("launcher.py"))]
    done = subprocess.run(
        [*launcher, sys.executable, "-m", *command],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environ},
        cwd=Path(__file__).parents[1],
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {done.returncode}")
    seconds, cpu, kib = json.loads(done.stdout)
    return Turn(seconds, cpu, kib / 1024)


def rounds_of(
    names: Sequence[str], rounds: int, take: Callable[[str, int, int], Turn]
) -> list[dict[str, Turn]]:
    """Let the contenders take turns, each round in another order.

    Args:
        names: the contenders.
        rounds: how many turns each takes.
        take: runs a contender, given the numbers of its round and its place there.
    """
    taken = []
    for number in range(rounds):
        took = {each: take(each, number, place) for place, each in enumerate(order(names, number))}
        taken.append({name: took[name] for name in names})
    return taken


def machine() -> str:
    """Return what the figures were measured on."""
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        if line.startswith("model name")
    ]
    model = models[0] if models else platform.machine()
    return f"{os.cpu_count()} processors {model}, Python {platform.python_version()}"


def picture(found: Mapping[str, Result], title: str) -> str:
    """Draw the results as an SVG file, which a page may also contain."""
    name = re.sub(r"\W+", "-", title.lower())
    drawn = str(_chart(found, title)).replace("bars-", f"{name}-")
    whole = drawn.replace('viewBox="0 0 880', 'class="turns" viewBox="-24 0 906', 1)
    start = '<svg xmlns="http://www.w3.org/2000/svg" '
    return whole.replace("<svg ", start, 1).replace(">", f"><style>{STYLE}</style>", 1) + "\n"


def show(found: Mapping[str, Result], title: str, heading: str, output: Path) -> None:
    """Print the results, and write them as JSON, as a page and as a picture."""
    print(heading)
    print(f"{'':<22}{'rows/s':>8}{'CPU us/row':>12}{'MiB':>10}{'ours is':>10}")
    for name, result in found.items():
        print(
            f"{name:<22}{result.rows_per_second:>8,.0f}{result.cpu_us:>12,.0f}"
            f"{result.memory_mib:>10,.0f}{result.ours_is:>8.2f} x"
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    figures = {name: asdict(result) for name, result in found.items()}
    record = json.dumps({"heading": heading, "results": figures}, indent=2)
    output.with_suffix(".json").write_text(record + "\n", "utf-8")
    output.with_suffix(".html").write_text(page(found, heading), "utf-8")
    output.with_suffix(".svg").write_text(picture(found, title), "utf-8")


def page(found: Mapping[str, Result], heading: str) -> str:
    """Draw the results as an HTML page."""
    text = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Benchmarks</title>'
        '<style>{% include "page.css" %}</style><h1>Rows a second</h1><p>{{ heading }}</p>'
        "{{ chart }}<p>A bar is the median, in percent of the fastest round of all; the line "
        "reaches from the slowest to the fastest round.</p></html>"
    )
    return (
        environment("pipeline.charts")
        .from_string(text)
        .render(heading=heading, chart=_chart(found, "Rows a second"))
    )


def _chart(found: Mapping[str, Result], title: str) -> Markup:
    top = max(result.highest for result in found.values())
    groups = {name: [_bar(result, top, name == OURS)] for name, result in found.items()}
    words = "; ".join(
        f"{name}: {result.rows_per_second:,.0f} rows/s, {result.cpu_us:,.0f} µs of processor time"
        for name, result in found.items()
    )
    return bars(groups, ("rows/s", "CPU µs", "MiB"), title=title, description=words)


def _bar(result: Result, top: float, ours: bool) -> Bar:
    share = result.rows_per_second / top
    texts = [f"{n:,.0f}" for n in (result.rows_per_second, result.cpu_us, result.memory_mib)]
    interval = result.lowest / top, result.highest / top
    return Bar("a" if ours else "b", [share] * 3, texts, interval)
