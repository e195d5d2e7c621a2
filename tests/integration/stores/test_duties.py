"""What a run of a group of duties costs where nothing is new: few statements, however many head records there are."""

from __future__ import annotations

import time
from collections.abc import Iterator

import psycopg
import pytest

from airflow_coordination.duties.compaction.configured import set_compaction
from airflow_coordination.duties.groups.registry import configured, named, resolved
from airflow_coordination.duties.groups.running import GroupRunner
from airflow_coordination.duties.retention.hiding import hide
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from benchmarks.compaction.planning import FILL
from tests.engines.postgres import fresh_database
from tests.sent.tape import Tape, heard_by_psycopg
from tests.share import SHARE

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(3600)]
HEADS = 1_000_000 if SHARE == 1 else 20_000
MOST = 10
"""Statements of a group where nothing is new."""
WHO = ("ana", "why")
TWO_YEARS = '[{"type": "loadByPeriod", "period": "P2Y"}, {"type": "loadForever"}]'
NOTHING = '{"granularitySpec": {"segmentGranularity": "YEAR"}, "skipOffsetFromLatest": "P200Y"}'
PROPERTIES = {"druid.coordinator.startDelay": "PT0S", "druid.coordinator.kill.on": True}
GROUPS = ("HistoricalManagementDuties", "IndexingServiceDuties", "MetadataStoreManagementDuties", "watching")


@pytest.fixture(scope="module")
def large(postgres_cluster: str, postgres_template: str) -> Iterator[PartitionStore]:
    """A store with many head records, an hour each, of which something is hidden and nothing has to be merged."""
    with fresh_database(postgres_cluster, postgres_template) as url:
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(FILL, [HEADS])
            connection.execute("VACUUM (ANALYZE) coordination_heads")
        store = open_store(url)
        enabling = parts_of(store).enabling
        assert enabling is not None
        enabling.enable_branches()
        source = SourceCoordinator(store, "flights", "a test")
        source.supplying.register_dag("ingest")
        set_rules(source, "clean", TWO_YEARS, *WHO)
        hide(source, "clean", "1970-01-02/P1D", *WHO)
        set_compaction(source, "clean", NOTHING, *WHO)
        yield store
        store.close()


@pytest.fixture
def sent() -> Iterator[list[str]]:
    """The statements of this process from now on, heard by the driver of the database."""
    tape = Tape()
    found: list[str] = []
    tape.note = found.append  # type: ignore[method-assign]
    with heard_by_psycopg(tape):
        yield found


@pytest.mark.parametrize("name", GROUPS)
def test_a_second_run_does_nothing_and_asks_little(large, sent, tmp_path, name):
    duties = configured(PROPERTIES)
    runner = GroupRunner(
        large, "a test", start_delay=duties.start_delay, margins=duties.margins, output_root=str(tmp_path)
    )
    group = resolved(named(duties, name))
    first = runner.run(group)
    assert first.state.failing == [], {each: first.state.of(each).error for each in first.state.failing}
    again = _due(runner, name)
    sent.clear()
    began = time.perf_counter()
    found = again.run(group)
    took = time.perf_counter() - began
    print(f"{name}: {len(sent)} statements in {took:.2f} s with {HEADS:,} head records; at first {first.state.took}")
    assert found.ran
    assert all(result.idle for result in found.state.duties.values()), found.state.duties
    assert len(sent) <= MOST, "\n".join(sent)


def _due(runner: GroupRunner, name: str) -> GroupRunner:
    """Let the group be due again."""
    runner.run_now(name, *WHO)
    return runner
