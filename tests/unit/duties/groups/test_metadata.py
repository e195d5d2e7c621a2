"""Old versions of documents go, and what has counted within the time that is kept stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from airflow_coordination.duties.compaction.configured import set_compaction
from airflow_coordination.duties.configuring import read_config, set_config, versions
from airflow_coordination.duties.groups.metadata import KillAudit, KillCompactionConfig, KillRules
from airflow_coordination.duties.groups.round import Cluster, GroupDuty, Ran, Round
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.planning.duties.configuration import DynamicConfig
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import FaultyStore
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError

DAY = timedelta(days=1)
KEEP = '[{"type": "loadForever"}]'
DROP = '[{"type": "dropForever"}]'


class Years:
    """A store with a clock that can be put forward, and two sources on it."""

    def __init__(self) -> None:
        self.clock = FakeClock(datetime(2026, 1, 1, tzinfo=UTC))
        self.store = FaultyStore(open_store("memory://", clock=self.clock))
        self.sources = [SourceCoordinator(self.store, name, "owner") for name in ("flights", "others")]
        for source in self.sources:
            source.supplying.register()
            source.create_partitions(["a"])

    def run(self, duty: GroupDuty, left: object = None, *, dry_run: bool = False, **arguments: str) -> Ran:
        now = self.store.now()
        said = {"led_since": now, "period": DAY, "config": DynamicConfig(), "dry_run": dry_run}
        cluster = Cluster(store=self.store, owner="duties", now=now, **said)
        self.store.calls.clear()
        return duty.run(Round(cluster=cluster, by=duty.name, arguments=arguments, remembered=left))

    def kept(self, name: str, source: int = 0) -> list[int]:
        return [each.version for each in self.sources[source].documents.versions(name)]


@pytest.fixture
def years() -> Years:
    return Years()


def test_the_configuration_of_long_ago_goes_and_its_history_says_so(years) -> None:
    flights = years.sources[0]
    for number in (10, 20, 30):
        set_config(flights, {"maxSegmentsToMove": number}, "ana", f"to {number}")
        years.clock.advance(50 * DAY)
    found = years.run(KillAudit())
    assert (found.counts, found.idle) == ({"metadata/kill/audit/count": 1}, False)
    assert found.said == "forgot 1 version(s) of before 2026-03-02"
    assert [each.configured.version for each in versions(flights)] == [3, 2]
    assert [each.changes is None for each in versions(flights)] == [False, True]
    years.clock.advance(200 * DAY)
    assert years.run(KillAudit(), durationToRetain="P1D").counts == {"metadata/kill/audit/count": 1}
    assert read_config(flights).config.max_segments_to_move == 30
    assert set_config(flights, {"maxSegmentsToMove": 40}, "ana", "on").version == 4


def test_what_has_counted_within_the_time_that_is_kept_stays(years) -> None:
    """Set a year ago and in force until yesterday, it is younger than its date."""
    flights = years.sources[0]
    set_config(flights, {"maxSegmentsToMove": 10}, "ana", "w")
    years.clock.advance(365 * DAY)
    set_config(flights, {"maxSegmentsToMove": 20}, "ana", "w")
    years.clock.advance(DAY)
    assert years.run(KillAudit()).said == "nothing to forget"
    assert len(list(versions(flights))) == 2


def test_each_duty_takes_its_own_documents_of_all_sources(years) -> None:
    for text in (KEEP, DROP, KEEP):
        for source in years.sources:
            set_rules(source, "clean", text, "ana", "w")
        set_rules(years.sources[0], None, text, "ana", "w")
        years.sources[0].documents.change("view", lambda looked: (looked.content or "") + " {}", "ana", "w")
        years.clock.advance(100 * DAY)
    for enabled in ("true", "false"):
        set_compaction(years.sources[1], "clean", f'{{"enabled": {enabled}}}', "ana", "w")
        years.clock.advance(100 * DAY)
    assert years.run(KillRules()).counts == {"metadata/kill/rule/count": 6}
    assert years.run(KillCompactionConfig()).counts == {"metadata/kill/compaction/count": 1}
    assert years.run(KillAudit()).counts == {"metadata/kill/audit/count": 0}
    assert (years.kept("rules/clean"), years.kept("view")) == ([3], [3, 2, 1])
    assert (years.kept("rules/clean", 1), years.kept("compaction/clean", 1)) == ([3], [2])


def test_it_looks_once_in_a_period_and_asks_little(years) -> None:
    set_config(years.sources[0], {"maxSegmentsToMove": 10}, "ana", "w")
    first = years.run(KillRules())
    assert (first.said, first.idle) == ("nothing to forget", True)
    assert years.store.calls.count("forget_versions") == 3
    again = years.run(KillRules(), first.left)
    assert (again.left, years.store.calls.count("forget_versions")) == (first.left, 0)
    years.clock.advance(DAY)
    assert years.run(KillRules(), first.left).left != first.left
    years.clock.advance(timedelta(hours=1))
    years.run(KillRules(), first.left, period="PT1H")
    assert years.store.calls.count("forget_versions") == 3


def test_a_dry_run_forgets_nothing(years) -> None:
    for number in (10, 20):
        set_config(years.sources[0], {"maxSegmentsToMove": number}, "ana", "w")
        years.clock.advance(100 * DAY)
    assert years.run(KillAudit(), dry_run=True).idle
    assert len(list(versions(years.sources[0]))) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"durationToRetain": "PT23H"}, "killAudit.durationToRetain='PT23H': keeps less than a day, in which a lost"),
        ({"durationToRetain": "90"}, "killAudit.durationToRetain='90': is no period"),
        ({"period": "P1M"}, "killAudit.period='P1M': has months or years"),
    ],
)
def test_arguments_that_cannot_be_are_named(years, arguments, message) -> None:
    with pytest.raises(InvalidInputError) as refused:
        years.run(KillAudit(), **arguments)
    assert str(refused.value).startswith(message)


def test_a_role_that_may_not_remove_documents_is_a_warning(years, monkeypatch) -> None:
    """In PostgreSQL workers may read and write documents, and remove none."""

    def refused(*_: object) -> int:
        raise PartitionUpdateError("forget old versions of documents", "", "permission denied")

    monkeypatch.setattr(years.store, "forget_versions", refused)
    found = years.run(KillRules())
    assert (found.said, found.idle) == ("may not forget anything", True)
    assert found.warnings == (
        "this role may not remove old versions of documents: run duties in the owner's role, or set "
        "druid.coordinator.kill.rule.on=false",
    )
