"""Marks tests by what they need, so that ``make test-fast`` leaves them out without a list.

Hypothesis takes the same examples each time, and as long for one as the machine needs: a change is judged by what it
changes. ``--hypothesis-profile=default`` lets it look for new ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.load_profile("ci")
_ROOT = Path(__file__).parent
_BY_FIXTURE = {"postgres_cluster": "postgres", "spark": "spark"}
_BY_FOLDER = {"tests/system": "system"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark by fixture and by folder, before pytest selects by mark."""
    for item in items:
        for fixture in _BY_FIXTURE.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(_BY_FIXTURE[fixture])
        for folder, marker in _BY_FOLDER.items():
            if _ROOT / folder in item.path.parents:
                item.add_marker(marker)
