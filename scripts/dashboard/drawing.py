"""Panels as SVG: numbers and lines, at the places that a dashboard gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Final, Protocol

_COLUMN, _ROW, _GAP, _HEAD = 50, 30, 8, 46
_WIDTH: Final = 24 * _COLUMN
_COLOURS: Final = ("#73bf69", "#f2cc0c", "#5794f2", "#ff780a", "#f2495c", "#b877d9", "#8ab8ff", "#c0d8ff", "#ffa6b0")
_GROUND, _PANEL, _LINE, _TEXT, _SOFT = "#111217", "#181b1f", "#2f343b", "#d8d9da", "#9a9ea6"


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one number: the last of them.

    :param points: second and value.
    """

    name: str
    points: Sequence[tuple[float, float]]


class Drawn(Protocol):
    """What is drawn of a panel."""

    @property
    def title(self) -> str:
        """Above it."""

    @property
    def kind(self) -> str:
        """``stat`` or ``timeseries``."""

    @property
    def unit(self) -> str:
        """``s`` or ``short``."""

    @property
    def place(self) -> tuple[int, int, int, int]:
        """Its x, y, width and height, in a grid of 24 columns."""


def drawn(title: str, shown: Sequence[tuple[Drawn, Sequence[Series]]], made_by: str) -> str:
    """Return the picture.

    :param made_by: stands in it as a comment.
    """
    height = _HEAD + max(panel.place[1] + panel.place[3] for panel, _ in shown) * _ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" role="img">',
        f"<!-- {escape(made_by)} --><title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="{_GROUND}"/>',
        _text(12, 30, title, 20),
        *(_panel(panel, series) for panel, series in shown),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _text(x: float, y: float, text: str, size: float, colour: str = _TEXT, anchor: str = "start") -> str:
    said = escape(text)
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}">{said}</text>'


def _panel(panel: Drawn, series: Sequence[Series]) -> str:
    x, y, wide, high = panel.place
    left, top = x * _COLUMN + _GAP / 2, _HEAD + y * _ROW + _GAP / 2
    width, height = wide * _COLUMN - _GAP, high * _ROW - _GAP
    body = _number if panel.kind == "stat" else _lines
    frame = f'<rect width="{width}" height="{height}" rx="3" fill="{_PANEL}" stroke="{_LINE}"/>'
    inside = [frame, _text(10, 20, panel.title, 13), *body(series, panel.unit, width, height)]
    return f'<g transform="translate({left},{top})">{"".join(inside)}</g>'


def _number(series: Sequence[Series], unit: str, width: float, height: float) -> list[str]:
    said = told(series[0].points[-1][1], unit) if series and series[0].points else "No data"
    return [_text(width / 2, height / 2 + 22, said, 34, _COLOURS[0], "middle")]


def _lines(series: Sequence[Series], unit: str, width: float, height: float) -> list[str]:
    points = [point for each in series for point in each.points]
    if not points:
        return [_text(width / 2, height / 2, "No data", 14, _SOFT, "middle")]
    first, last = min(at for at, _ in points), max(at for at, _ in points)
    top = _round_up(max(1.0, *(value for _, value in points)), unit)
    left, right, above, below = 62.0, width - 12, 34.0, height - 42
    across = (right - left) / max(last - first, 1)
    up = (below - above) / top
    parts = []
    for part in range(5):
        value = top * part / 4
        level = below - value * up
        parts.append(f'<line x1="{left}" x2="{right}" y1="{level:.1f}" y2="{level:.1f}" stroke="{_LINE}"/>')
        parts.append(_text(left - 6, level + 4, told(value, unit), 10, _SOFT, "end"))
    hour = first - first % 3600 + 3600
    while hour < last:
        clock = datetime.fromtimestamp(hour, UTC).strftime("%H:%M")
        parts.append(_text(left + (hour - first) * across, below + 14, clock, 10, _SOFT, "middle"))
        hour += 3600
    along = left
    for number, each in enumerate(series):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(f"{left + (at - first) * across:.1f},{below - value * up:.1f}" for at, value in each.points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<rect x="{along:.1f}" y="{height - 18:.1f}" width="12" height="3" fill="{colour}"/>')
        parts.append(_text(along + 16, height - 12, each.name, 11))
        along += 28 + 6.6 * len(each.name)
    return parts


def _round_up(value: float, unit: str) -> float:
    """Return the end of an axis: a round number, of hours or minutes where they are seconds."""
    step = 3600.0 if unit == "s" and value > 3600 else 240.0 if unit == "s" else 1.0
    while value > 4 * step:
        step *= 2 if str(step)[0] in "13" else 2.5 if str(step)[0] == "2" else 2
    return 4 * step


def told(value: float, unit: str) -> str:
    """Return a value in its unit, as short as Grafana says it."""
    if unit == "s":
        if value >= 3600:
            return f"{value / 3600:.3g} h"
        return f"{value / 60:.3g} min" if value >= 60 else f"{value:.3g} s"
    if value >= 1_000_000:
        return f"{value / 1_000_000:.3g} M"
    return f"{value / 1000:.3g} K" if value >= 10_000 else f"{value:.4g}"
