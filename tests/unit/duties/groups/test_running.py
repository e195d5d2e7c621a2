"""Groups of duties run under their leases: who leads, when, and what each duty leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from airflow_coordination.duties.configuring import set_config
from airflow_coordination.duties.groups.round import Ran, Round
from airflow_coordination.duties.groups.running import Group, GroupRunner
from airflow_coordination.duties.groups.state import GroupState
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.protocol.metrics import CountingMetrics
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.errors import PartitionNotOwnedError, StoreUnavailableError
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import DUTIES

PERIOD = timedelta(minutes=5)
NO_DELAY = timedelta(0)


class Noting:
    """A duty that keeps what it was told, and does what a test wants."""

    def __init__(self, name: str = "noting", does: Callable[[Round], Ran] | None = None) -> None:
        self.name = name
        self.rounds: list[Round] = []
        self._does = does

    def run(self, round: Round) -> Ran:
        self.rounds.append(round)
        if self._does is not None:
            return self._does(round)
        return Ran(said=f"run {len(self.rounds)}", counts={"things/count": 2}, left={"runs": len(self.rounds)})


def raising(error: Exception) -> Callable[[Round], Ran]:
    def does(round: Round) -> Ran:
        raise error

    return does


def group(*duties: Noting, name: str = "G", **arguments: dict[str, str]) -> Group:
    return Group(name=name, period=PERIOD, duties=duties, arguments=arguments)


class World:
    """A store in memory with a clock of its own, and schedulers on it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = InMemoryStore(self.clock)
        self.metrics = CountingMetrics()

    def configure(self, **changes: object) -> None:
        set_config(self.runner("ana").duties, changes, "ana", "a test")

    def runner(
        self, owner: str = "one", start_delay: timedelta = NO_DELAY, only: Sequence[str] | None = None
    ) -> GroupRunner:
        return GroupRunner(
            self.store,
            owner,
            start_delay=start_delay,
            metrics=self.metrics,
            only=only,
            clock=self.clock,
        )


@pytest.fixture
def world() -> World:
    return World()


def test_duties_run_in_their_order_and_what_each_has_left_is_told_to_it_the_next_time(world):
    one, two = Noting("one"), Noting("two")
    runner, its = world.runner(), group(one, two, two={"key": "value"})
    first = runner.run(its)
    assert first.ran
    assert list(first.state.duties) == ["one", "two"]
    assert first.state.of("one").said == "run 1"
    assert (one.rounds[0].remembered, two.rounds[0].arguments) == (None, {"key": "value"})
    world.clock.advance(PERIOD.total_seconds())
    runner.run(its)
    assert one.rounds[1].remembered == {"runs": 1}
    assert one.rounds[1].cluster.led_since == one.rounds[0].now


def serving(name: str = "serving") -> Noting:
    return Noting(name, lambda round: Ran(said=", ".join(each.source for each in round.sources)))


def test_only_the_sources_that_were_named_are_served_each_once(world):
    for name in ("flights", "flights_2013", "orders"):
        SourceCoordinator(world.store, name, "test").create_partitions(["a"])
    said = {}
    for only in (None, ["flights_2013"], ("orders", "flights", "orders"), []):
        said[str(only)] = world.runner(only=only).run(group(serving(), name=str(only))).state.of("serving").said
    assert [*said.values()] == ["flights, flights_2013, orders", "flights_2013", "flights, orders", ""]


@pytest.mark.parametrize(
    ("name", "remedy"), [("fligths", "Did you mean 'flights'?"), ("x", "Create its partitions first, or leave it out")]
)
def test_a_source_that_is_none_fails_what_serves_sources_unless_there_is_another(world, name, remedy, caplog):
    SourceCoordinator(world.store, "flights", "test").create_partitions(["a"])
    problem = f"sources={name!r}: is no source of store in_memory (this process only). {remedy}"
    state = world.runner(only=[name]).run(group(serving(), Noting("other"))).state
    assert state.failing == ["serving"]
    assert state.of("serving").error == f"SettingsError: {problem}"
    state = world.runner(only=["flights", name]).run(group(serving(), name="another")).state
    assert (state.failing, state.of("serving").said) == ([], "flights")
    assert f"One source is not served: {problem}" in caplog.text


def test_a_text_is_no_list_of_sources(world):
    """Each source whose name is a part of it would be served, too."""
    with pytest.raises(SettingsError, match=r"sources='flights_2013': is a text, not a list of names\. Give a list"):
        world.runner(only="flights_2013")


def test_before_its_first_run_a_group_waits_for_the_start_delay(world):
    duty = Noting()
    runner = world.runner(start_delay=timedelta(minutes=2))
    found = runner.run(group(duty))
    assert not found.ran
    assert found.waits_until == world.store.now() + timedelta(minutes=2)
    assert not runner.run(group(duty)).ran
    world.clock.advance(120)
    assert runner.run(group(duty)).ran
    assert len(duty.rounds) == 1


def test_a_group_is_run_once_in_its_period_whoever_asks(world):
    duty = Noting()
    assert world.runner("one").run(group(duty)).ran
    again = world.runner("two").run(group(duty))
    assert not again.ran
    assert again.rival is None
    assert again.state.of("noting").said == "run 1"
    world.clock.advance(PERIOD.total_seconds() - 31)
    assert not world.runner("two").run(group(duty)).ran
    world.clock.advance(1)
    assert world.runner("two").run(group(duty)).ran, "a schedule of the same period may come a little early"


def test_the_last_day_of_a_group_that_runs_each_hour_is_remembered(world):
    runner, well, ill = world.runner(), group(Noting()), group(Noting(does=raising(ValueError("no such thing"))))
    runner.run(ill)
    for _ in range(24):
        world.clock.advance(PERIOD.total_seconds())
        found = runner.run(well).state
    assert found.runs == "d" * 24


def test_while_one_leads_the_other_is_told_who_and_until_when(world):
    others = []

    def ask(round: Round) -> Ran:
        others.append(world.runner("two").run(group(Noting())))
        return Ran(said="asked")

    world.runner("one").run(group(Noting(does=ask)))
    [other] = others
    assert (other.ran, other.rival) == (False, "one")
    assert other.rival_until > world.store.now()


def test_a_duty_that_fails_keeps_none_of_the_others_and_is_counted(world):
    broken, after = Noting("broken", raising(ValueError("no such thing"))), Noting("after")
    runner = world.runner()
    found = runner.run(group(broken, after)).state
    assert found.failing == ["broken"]
    assert found.of("broken").error == "ValueError: no such thing"
    assert found.of("after").said == "run 1"
    world.clock.advance(PERIOD.total_seconds())
    found = runner.run(group(broken, after)).state
    assert (found.of("broken").fails, found.runs) == (2, "ff")
    assert world.metrics.gauges["coordination.coordinator.failed.broken"] == 2


def test_a_duty_that_could_not_be_done_everywhere_has_failed_and_remembers_the_rest(world):
    def half(round: Round) -> Ran:
        return Ran(said="half of it", left={"runs": 7}, errors=("trips: no such thing",))

    found = world.runner().run(group(Noting(does=half))).state
    assert found.failing == ["noting"]
    assert found.of("noting").error == "trips: no such thing"
    assert (found.of("noting").left, found.of("noting").fails) == ({"runs": 7}, 1)


def test_what_a_duty_has_left_stays_when_it_fails(world):
    duty = Noting()
    runner = world.runner()
    runner.run(group(duty))
    world.clock.advance(PERIOD.total_seconds())
    runner.run(group(Noting(does=raising(ValueError("once")))))
    world.clock.advance(PERIOD.total_seconds())
    runner.run(group(duty))
    assert duty.rounds[-1].remembered == {"runs": 1}


def test_after_a_silent_store_the_other_duties_are_not_tried(world):
    after = Noting("after")
    broken = Noting("broken", raising(StoreUnavailableError("reach it", "refused")))
    found = world.runner().run(group(broken, after)).state
    assert after.rounds == []
    assert found.failing == ["broken", "after"]


def test_where_all_duties_fail_the_group_has_failed_and_is_never_parked(world):
    runner, its = world.runner(), group(Noting(does=raising(ValueError("again"))))
    for number in range(1, 9):
        runner.run(its)
        found = runner.duties.partition("group|G")
        assert (found.failures, found.parked) == (number, False)
        assert "noting: ValueError: again" in found.last_error
        world.clock.advance(PERIOD.total_seconds())
    assert GroupState.of_partition(found).of("noting").fails == 8


def test_while_paused_no_duty_is_run_and_the_period_goes_on(world):
    duty = Noting()
    world.configure(pauseCoordination=True)
    found = world.runner().run(group(duty))
    assert (found.paused, found.ran, found.state.runs) == (True, False, "p")
    world.configure(pauseCoordination=False)
    assert not world.runner().run(group(duty)).ran
    world.clock.advance(PERIOD.total_seconds())
    assert world.runner().run(group(duty)).ran


def test_a_configuration_counts_from_the_next_run_on(world):
    seen = []

    def change(round: Round) -> Ran:
        world.configure(maxSegmentsToMove=9)
        seen.append(round.config.max_segments_to_move)
        return Ran(said="changed")

    runner, its = world.runner(), group(Noting("one", change), Noting("two", change))
    runner.run(its)
    world.clock.advance(PERIOD.total_seconds())
    runner.run(its)
    assert seen == [5, 5, 9, 9]


def test_who_has_lost_the_lease_ends_nothing_and_the_new_one_leads(world):
    def sleep(round: Round) -> Ran:
        world.runner().duties.people.release("group|G", "ana", "it hangs")
        assert world.runner("two").run(group(Noting())).ran
        return Ran(said="woke up")

    with pytest.raises(PartitionNotOwnedError):
        world.runner("one").run(group(Noting(does=sleep)))
    state = GroupState.of_partition(world.runner().duties.partition("group|G"))
    assert state.of("noting").said == "run 1"


def test_who_comes_after_a_long_break_has_led_since_now(world):
    duty = Noting()
    runner = world.runner()
    runner.run(group(duty))
    world.clock.advance(5 * PERIOD.total_seconds())
    runner.run(group(duty))
    assert duty.rounds[1].cluster.led_since == duty.rounds[1].now


def test_a_look_runs_duties_dry_and_takes_no_lease(world):
    duty = Noting()
    found = world.runner().look(group(duty))
    assert found.state.of("noting").said == "run 1"
    assert duty.rounds[0].dry_run
    assert world.runner().duties.partition("group|G") is None


def test_a_group_that_waits_can_be_let_go_on_by_a_person(world):
    duty = Noting()
    runner = world.runner()
    runner.run(group(duty))
    runner.run_now("G", "ana", "a new rule")
    assert runner.run(group(duty)).ran


def test_metrics_have_druids_names_and_their_zeros(world):
    world.runner().run(group(Noting(does=lambda round: Ran(said="nothing", counts={"segment/moved/count": 0}))))
    assert world.metrics.gauges["coordination.segment.moved.count"] == 0
    assert "coordination.coordinator.time.noting" in world.metrics.gauges
    assert "coordination.coordinator.global.time.G" in world.metrics.gauges


def test_only_sources_of_users_are_served(world):
    for name in ("flights", "trips", "~merged/flights"):
        SourceCoordinator(world.store, name, "me").supplying.register_dag("d")
    duty = Noting()
    world.runner().run(group(duty))
    assert [each.source for each in duty.rounds[0].sources] == ["flights", "trips"]
    duty = Noting()
    world.clock.advance(PERIOD.total_seconds())
    world.runner(only=["trips"]).run(group(duty))
    assert [each.source for each in duty.rounds[0].sources] == ["trips"]
    assert world.runner().duties.source == DUTIES


def test_what_is_too_long_to_be_remembered_is_looked_at_again(world):
    duty = Noting(does=lambda round: Ran(said="much", left="x" * 300_000))
    runner = world.runner()
    found = runner.run(group(duty))
    assert found.ran
    assert GroupState.of_partition(runner.duties.partition("group|G")).of("noting").left is None
