"""Runs contenders in turn, each a process of its own, and shows their medians."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from markupsafe import Markup

from pipeline.pages import environment

OURS = "tender-pipeline"

CHART = """
{% set left, length, step, right = 132, 508, 40, (716, 796, 878) %}
{% set bottom = 16 + step * found|length %}
<svg xmlns="http://www.w3.org/2000/svg" class="turns" viewBox="-24 0 906 {{ bottom + 24 }}"
  role="img" aria-label="{{ title }}.{% for name, result in found.items() %}
    {{ name }}: {{ "{:,.0f}".format(result.rows_per_second) }} rows/s.{% endfor %}">
  <style>
    .turns { width: 100%; color: var(--color-foreground-primary); font: 12.5px sans-serif; }
    .turns text { fill: currentColor; } .turns .value { font-weight: 600; }
    .turns :is(.grid, .whisker) { fill: none; stroke: currentColor; } .turns .grid { opacity: .2; }
    .turns .fill { fill: #b5551c; } .turns .ours { fill: #0e8a86; }
  </style>
  <g text-anchor="end">{% for name in ("rows/s", "CPU µs", "MiB") %}
    <text x="{{ right[loop.index0] }}" y="10">{{ name }}</text>{% endfor %}</g>
  {% for percent in (0, 25, 50, 75, 100) %}
  {% set x = left + length * percent / 100 %}
  <path class="grid" d="M{{ x }},20 V{{ bottom }}"/>
  <text x="{{ x }}" y="{{ bottom + 18 }}" text-anchor="middle">{{ percent }}</text>
  {% endfor %}
  {% for name, result in found.items() %}
  {% set middle = 36 + step * loop.index0 %}
  {% set low, high = left + length * result.lowest / top, left + length * result.highest / top %}
  {% set ends = "M{0},{1} v8 M{2},{1} v8".format(low, middle - 4, high) %}
  <rect class="fill {{ "ours" if name == ours }}" x="{{ left }}" y="{{ middle - 10 }}" rx="2"
    width="{{ length * result.rows_per_second / top }}" height="20"/>
  <path class="whisker" d="M{{ low }},{{ middle }} H{{ high }} {{ ends }}"/>
  <g text-anchor="end"><text x="{{ left - 14 }}" y="{{ middle + 4 }}">{{ name }}</text>
    {% for figure in (result.rows_per_second, result.cpu_us, result.memory_mib) %}
    <text {% if loop.first %}class="value" {% endif %}x="{{ right[loop.index0] }}"
      y="{{ middle + 4 }}">{{ "{:,.0f}".format(figure) }}</text>{% endfor %}</g>
  {% endfor %}
</svg>
"""
"""A bar for each contender, in percent of the fastest round, with its slowest and fastest round."""


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
    top = max(result.highest for result in found.values())
    chart = environment("pipeline.pages").from_string(CHART)
    return chart.render(found=found, title=title, top=top, ours=OURS).strip() + "\n"


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
    chart = Markup(picture(found, "Rows a second"))
    whole = environment("pipeline.pages").from_string(text)
    return whole.render(heading=heading, chart=chart)
