"""The picture of the dashboard is that of today's panels; where a Prometheus is installed it is drawn again."""

from __future__ import annotations

import shutil
from html import escape
from xml.etree import ElementTree

import pytest

from scripts.dashboard.drawing import Series, drawn, told
from scripts.dashboard.picture import PICTURE, Panel, digest, panels, picture

AGAIN = "the dashboard has changed: apt-get install prometheus, then python -m scripts.dashboard.picture"


def test_the_picture_is_of_today_s_panels() -> None:
    text = PICTURE.read_text()
    assert f"panels {digest()}" in text, AGAIN
    assert len(panels()) >= 15
    assert [each.title for each in panels() if f">{escape(each.title)}<" not in text] == []
    ElementTree.fromstring(text)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="Debian has it: apt-get install prometheus")
def test_prometheus_answers_what_is_drawn() -> None:
    """Every panel shows something, and it is the same night each time."""
    again = picture()
    assert again == PICTURE.read_text(), AGAIN
    assert "No data" not in again


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "short", "0"), (419, "short", "419"), (9_500, "short", "9500"), (250_000, "short", "250 K"),
        (1_500_000, "short", "1.5 M"), (30, "s", "30 s"), (600, "s", "10 min"), (17_940, "s", "4.98 h"),
    ],
)  # fmt: skip
def test_values_are_told_in_their_unit(value: float, unit: str, text: str) -> None:
    assert told(value, unit) == text


def test_what_has_no_answer_says_so_and_names_are_text() -> None:
    panel = Panel("a < b", "timeseries", "short", (0, 0, 12, 8), ())
    one = Panel("number", "stat", "short", (12, 0, 4, 4), ())
    text = drawn("t", [(panel, []), (one, [])], "made")
    assert text.count("No data") == 2
    assert "a &lt; b" in text
    filled = drawn("t", [(panel, [Series("x & y", [(0, 1), (60, 3)])])], "made")
    assert "x &amp; y" in filled
    ElementTree.fromstring(filled)
