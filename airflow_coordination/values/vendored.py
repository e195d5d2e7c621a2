"""The libraries that the operator's archive brings for images that lack them."""

from __future__ import annotations

import sys
from pathlib import Path


def look_among_vendored() -> None:
    """Let imports find them, behind everything that is installed."""
    place = str(Path(__file__).parents[2] / "vendored")
    if place not in sys.path:
        sys.path.append(place)
