"""Parents finish while children are created: real engines, real processes (S19, S20)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import uuid4

import pytest

from airflow_coordination.stores import open_store
from tests.engines.postgres import fresh_database
from tests.integration.families.racing import Race, coordinator, stuck

MANY = [
    pytest.param(60, marks=pytest.mark.slow),
    pytest.param(1_000, marks=[pytest.mark.long, pytest.mark.timeout(1_200)]),
]
TIMEOUT = pytest.mark.timeout(600)


@pytest.fixture
def postgresql(postgres_cluster: str, postgres_template: str) -> Iterator[str]:
    with fresh_database(postgres_cluster, postgres_template) as url:
        yield url


@pytest.fixture
def dynamodb(dynamodb_local: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    url = f"dynamodb://races-{uuid4().hex}?region=us-east-1&billing_mode=on_demand&endpoint_url={dynamodb_local}"
    open_store(url).setup()
    return url


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(request.param)
    return found


engines = pytest.mark.parametrize(
    "url",
    [
        pytest.param("postgresql", marks=pytest.mark.postgres),
        pytest.param("dynamodb", marks=pytest.mark.dynamodb),
    ],
    indirect=True,
)


@TIMEOUT
@engines
@pytest.mark.parametrize("families", MANY)
def test_s20_no_child_is_left_waiting(url: str, families: int) -> None:
    """S20: nothing is left for sweeps, and every child was there once."""
    race = Race(url, families)
    race.run()
    one = coordinator(open_store(url), "looks")
    assert (stuck(race), one.looking.outlook().blocked, one.sweep().released) == ([], 0, 0)
    drained = 0
    while (lease := one.get_next_partition()) is not None:
        assert json.dumps(lease.partition.waits_for) == "[]"
        one.complete(lease)
        drained += 1
    assert drained == 2 * families


@TIMEOUT
@pytest.mark.slow
@pytest.mark.postgres
def test_s20_without_the_lock_on_parents_children_are_stuck(postgresql: str) -> None:
    race = Race(postgresql, 60, "parents_are_not_locked")
    race.run()
    assert stuck(race)


@TIMEOUT
@pytest.mark.slow
@pytest.mark.dynamodb
def test_s20_without_the_condition_on_parents_children_are_stuck(dynamodb: str) -> None:
    race = Race(dynamodb, 60, "parents_are_not_checked")
    race.run()
    assert stuck(race)
