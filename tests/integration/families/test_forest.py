"""A large random graph, drained by processes of which some are killed (S19, S20, L1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_coordination.stores import open_store
from airflow_coordination.testing.history import check
from tests.engines.postgres import fresh_database
from tests.integration.families.forest import SETTINGS, Forest

SIZES = [
    pytest.param(400, 3, marks=pytest.mark.slow),
    pytest.param(10_000, 25, marks=[pytest.mark.long, pytest.mark.timeout(3_600)]),
]


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/store.db"
    open_store(url).setup()
    return url


@pytest.fixture
def postgresql(postgres_cluster: str, postgres_template: str) -> Iterator[str]:
    with fresh_database(postgres_cluster, postgres_template) as url:
        yield url


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("nodes", "kills"), SIZES)
@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_s19_s20_each_comes_after_its_parents_or_stays_behind_what_is_parked(
    engine: str, nodes: int, kills: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The graph is created while it is drained; how far it is decides when the next process is killed."""
    forest = Forest(tmp_path / "history", request.getfixturevalue(engine), nodes, kills)
    history = forest.run()
    assert forest.found() == forest.expected()
    assert [str(broken) for broken in check(history, SETTINGS)] == []
