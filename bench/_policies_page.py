"""The page of ./dev bench policies: its figures, and plots as pictures inside, so that it is one file."""

import html
import io
from collections.abc import Callable, Sequence
from typing import Any

import _sessions
import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

_COLOURS = {"reservation": "#b45f06", "batch": "#6a51a3", "replicated": "#08519c", "pool": "#238b45"}
_STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --back: #ffffff; --line: #d0d7de; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --back: #0d1117; --line: #30363d; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: var(--text); background: var(--back); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 2rem 0; } figure svg { width: 100%; height: auto; background: #ffffff; border-radius: 6px; }
"""


def page(
    figures: dict[str, dict[str, Any]],
    measured: dict[str, Any],
    cell_hours: float,
    plans: Sequence[_sessions.Plan],
    options: Any,
) -> str:
    about = (
        f"{len(plans)} sessions of {sum(len(plan.cells) for plan in plans)} cells, {options.hours:g} hours in "
        f"{options.minutes:g} minutes, seed {options.seed}. The cells themselves need {cell_hours:.0f} GPU-hours."
    )
    delays = {policy: [cell.delay_s for cell in one.cells] for policy, one in measured.items()}
    takes = {policy: [cell.took_s for cell in one.cells] for policy, one in measured.items()}
    plots = [
        (
            "Until a cell begins",
            "Each curve shows which share of the cells had begun after so many seconds of the clock. Where a worker "
            "has to be started for each cell, all of them wait for that; what stays on the right waits for GPUs.",
            _plot(lambda axes: _shares(axes, delays, "seconds until the cell begins")),
        ),
        (
            "Until a cell has ended",
            "The same until the reply: the time of the cell itself, divided as the trace is, and whatever it waited.",
            _plot(lambda axes: _shares(axes, takes, "seconds until the reply")),
        ),
        (
            "GPUs that are bound",
            "A reservation binds what its sessions hold, also while people think. The others bind what cells use.",
            _plot(lambda axes: _series(axes, measured, 1, "GPUs")),
        ),
        (
            "Cells that wait for GPUs",
            "A queue that stays low means that GPUs were there when they were wanted.",
            _plot(lambda axes: _series(axes, measured, 2, "cells")),
        ),
        (
            "Subscription ratio",
            "GPUs that the kernels of all replicas need for a cell, to all GPUs times the replicas of a session.",
            _plot(lambda axes: _series(axes, measured, 3, "ratio")),
        ),
    ]
    drawn = "".join(
        f"<figure><h2>{html.escape(title)}</h2><p>{html.escape(text)}</p>{picture}</figure>"
        for title, text, picture in plots
    )
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Session policies</title>"
        f"<style>{_STYLE}</style><h1>Session policies</h1><p>{html.escape(about)}</p>{_table(figures)}{drawn}</html>"
    )


def _table(figures: dict[str, dict[str, Any]]) -> str:
    columns = list(next(iter(figures.values())))
    head = "".join(f"<th>{html.escape(column.replace('_', ' '))}</th>" for column in columns)
    rows = "".join(
        f"<tr><td>{html.escape(policy)}</td>"
        + "".join(f"<td>{_shown(one[column])}</td>" for column in columns)
        + "</tr>"
        for policy, one in figures.items()
    )
    return f"<table><tr><th>policy</th>{head}</tr>{rows}</table>"


def _shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) and value < 100 else f"{value:.0f}"


def _plot(draw: Callable[[Axes], None]) -> str:
    figure, axes = plt.subplots(figsize=(9, 4))
    draw(axes)
    axes.grid(alpha=0.3)
    axes.legend()
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight")
    plt.close(figure)
    return text.getvalue()[text.getvalue().index("<svg") :]


def _shares(axes: Axes, samples: dict[str, list[float]], label: str) -> None:
    for policy, values in samples.items():
        ordered = sorted(values)
        shares = [(index + 1) / len(ordered) for index in range(len(ordered))]
        axes.step(ordered, shares, where="post", label=policy, color=_COLOURS[policy])
    axes.set_xscale("log")
    axes.set_xlabel(label)
    axes.set_ylabel("share of the cells")


def _series(axes: Axes, measured: dict[str, Any], column: int, label: str) -> None:
    for policy, one in measured.items():
        times = [sample[0] for sample in one.series]
        axes.step(times, [sample[column] for sample in one.series], where="post", label=policy, color=_COLOURS[policy])
    axes.set_xlabel("hours of the trace")
    axes.set_ylabel(label)
