"""What the operators say about their arguments while a DAG file is parsed."""

import sys
from datetime import timedelta

import pytest

from airflow_coordination.compaction import CompactionConfig
from airflow_coordination.leases import InvalidInputError, Settings, SettingsError
from airflow_coordination.operators import (
    BeginBranchOperator,
    CreatePartitionsOperator,
    LeasedSparkSubmitOperator,
    PlanCompactionOperator,
    PublishBranchOperator,
)
from airflow_coordination.operators.branches import branch_given
from airflow_coordination.sensors import DatasetAvailableSensor, PartitionsSensor
from airflow_coordination.values.program import TYPED

CONFIG = CompactionConfig("clean")


def leased(**arguments):
    return LeasedSparkSubmitOperator(
        **({"task_id": "process", "application": "job.py", "source": "flights"} | arguments)
    )


def available(**arguments):
    given = {"task_id": "s", "source": "flights", "dataset": "clean", "interval": "{{ ds }}/P1D"}
    return DatasetAvailableSensor(**given | arguments)


def in_branch_of(rendered):
    """Run an operator whose template for a branch was rendered to this."""
    operator = CreatePartitionsOperator(task_id="c", source="flights", supplier=list, branch="{{ params.branch }}")
    operator.branch = rendered
    operator.execute({})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: leased(on_empty="fail"), "on_empty='fail': is not a choice. Give one of success, skip"),
        (lambda: leased(on_negative="close"), "on_negative='close': would complete the partition at"),
        (lambda: leased(on_clear="maybe"), "on_clear='maybe': is not a choice. Give one of explain, reset"),
        (
            lambda: leased(max_leases=0),
            "max_leases=0: is not a whole number above zero. Give 1 or more, or None for all",
        ),
        (
            lambda: leased(max_leases=None, concurrent_leases=33),
            "concurrent_leases=33: is not a whole number from 1 to 32. Give 1, or how many partitions to work on at",
        ),
        (
            lambda: leased(concurrent_leases=3),
            "concurrent_leases=3: is more than max_leases=1, the number of partitions in all. Give max_leases=None, or",
        ),
        (
            lambda: leased(together=200),
            "together=200: is more than max_leases=1, the number of partitions in all. Give max_leases=None, or as",
        ),
        (
            lambda: leased(max_leases=None, together=2, concurrent_leases=2),
            "together=2: cannot be had with concurrent_leases=2: one call has all the leases that there are. Leave one",
        ),
        (
            lambda: leased(balance=True),
            "balance=True: cannot be had with max_leases=1: who stops after so many holds no share. Give "
            "max_leases=None, or leave balance out",
        ),
        (
            lambda: leased(max_leases=None, balance="yes"),
            "balance='yes': is not true or false. Give True, or leave it out",
        ),
        (
            lambda: leased(max_leases=None, max_runtime="an hour"),
            "max_runtime='an hour': is no number of seconds. Give seconds, for example 600",
        ),
        (
            lambda: leased(max_leases=None, max_runtime=-5),
            "max_runtime=datetime.timedelta(days=-1, seconds=86395): is negative",
        ),
        (
            lambda: leased(max_leases=None, hand_over_timeout=60),
            "hand_over_timeout=datetime.timedelta(seconds=60): changes nothing without balance=True. Give balance=",
        ),
        (lambda: leased(max_leases=None, steal=False), "steal=False: changes nothing without balance=True."),
        (
            lambda: leased(max_leases=None, balance=True, hand_over_timeout=-1),
            "hand_over_timeout=datetime.timedelta(days=-1, seconds=86399): is negative. Give a positive timedelta",
        ),
        (
            lambda: leased(max_leases=None, balance=True, max_leases_to_steal_at_one_time=0),
            "max_leases_to_steal_at_one_time=0: is not a whole number above zero. Give 1 or more",
        ),
        (
            lambda: leased(max_leases=None, on_clear="reset"),
            "on_clear='reset': cannot be had with max_leases=None: a task does not remember thousands of partitions. "
            f"Use `{TYPED} reset`, or max_leases=1",
        ),
        (
            lambda: PartitionsSensor(task_id="s", source="flights", until="done"),
            "until='done': is nothing to wait for. Give 'claimable' or 'completed'",
        ),
        (lambda: PartitionsSensor(task_id="s", source="flights", max_hints=0), "max_hints=0: is not above zero."),
        (
            lambda: PlanCompactionOperator(task_id="p", of="flights", configs=[]),
            "configs=[]: is no list of configurations. Give such as [CompactionConfig(",
        ),
        (
            lambda: PlanCompactionOperator(task_id="p", of="flights", configs=["clean"]),
            "configs='clean': is str, no CompactionConfig. Give such as",
        ),
        (
            lambda: PlanCompactionOperator(
                task_id="p", of="flights", configs=[CONFIG, CONFIG.from_json(CONFIG.to_json())]
            ),
            "compaction.dataset='clean': has two configurations",
        ),
        (
            lambda: PlanCompactionOperator(task_id="p", of="flights", configs=[CONFIG], period=0),
            "period=datetime.timedelta(0): is zero",
        ),
        (
            lambda: PublishBranchOperator(task_id="p", source="flights", branch=1, why="late data", check="no"),
            "check='no': cannot be called. Give a function with one parameter, a BranchLook",
        ),
        (
            lambda: in_branch_of(""),
            "branch='': is no number of a branch. Give the number of a branch, such as begin.output['branch']",
        ),
        (
            lambda: in_branch_of(None),
            "branch='': is no number of a branch. Give the number of a branch, such as begin.output['branch']",
        ),
        (
            lambda: branch_given("seven"),
            "branch='seven': is no number of a branch. Give the number of a branch, such as begin.output['branch']",
        ),
        (
            lambda: CreatePartitionsOperator(task_id="c", source="flights", supplier=["a"]),
            "supplier=['a']: cannot be called. Give a function with one parameter, the global",
        ),
        (
            lambda: CreatePartitionsOperator(task_id="c", source="flights", supplier=list, clean_after="a day"),
            "clean_after='a day': is no number of seconds. Give seconds, for example 600",
        ),
        (
            lambda: CreatePartitionsOperator(task_id="c", source="flights", supplier=list, clean_after=0),
            "clean_after=datetime.timedelta(0): is zero. Give a positive timedelta",
        ),
        (
            lambda: CreatePartitionsOperator(task_id="c", source="f", supplier=list, rules=[{"type": "dropForevr"}]),
            "rules[0].type='dropForevr': is no type of a rule. Did you mean dropForever?",
        ),
        (
            lambda: CreatePartitionsOperator(task_id="c", source="flights", supplier=list, interval_from_key="%Y"),
            "interval_from_key='%Y': changes nothing without rules=. Give rules, or leave it out",
        ),
        (lambda: available(interval="2013-01"), "interval='2013-01': has no slash."),
        (lambda: available(min_percent=0), "min_percent=0: is no percentage above 0. Give a number up to 100"),
    ],
)
def test_bad_arguments_are_told_at_once(make, message):
    with pytest.raises(InvalidInputError) as refused:
        make()
    assert message in str(refused.value)


def test_a_runtime_may_be_a_text_as_every_other_duration():
    """It may come from a Variable; as a text it left the lease behind, because no sum could be made of it."""
    assert [leased(max_leases=None, max_runtime=each).max_runtime for each in ("600", 600, timedelta(minutes=10))] == [
        600.0
    ] * 3
    assert (leased().max_runtime, leased(max_leases=None, max_runtime=0).max_runtime) == (None, 0.0)


def test_parsing_opens_no_store_and_no_connection(tmp_path, monkeypatch):
    """Wall 5: importing a DAG file touches neither the store nor the network."""
    opened = []

    def watch(event, arguments):
        if event in ("socket.connect", "sqlite3.connect", "subprocess.Popen"):
            opened.append((event, arguments))

    sys.addaudithook(watch)
    leased()
    PartitionsSensor(task_id="s", source="flights")
    available()
    CreatePartitionsOperator(task_id="c", source="flights", supplier=lambda state: [], rules="clean")
    PlanCompactionOperator(task_id="p", of="flights", configs=[CONFIG])
    BeginBranchOperator(task_id="b", source="flights", why="late data")
    PublishBranchOperator(task_id="s", source="flights", branch=1, why="late data")
    LeasedSparkSubmitOperator.partial(task_id="p", source="flights", application="job.py").expand(hint=["a"])
    assert opened == []


@pytest.mark.parametrize("given", [{"application": "job.jar"}, {"complete_on_success": True}])
def test_what_knows_nothing_of_leases_works_on_one_at_a_time(given):
    operator = leased(max_leases=None, concurrent_leases=2, **given)
    with pytest.raises(SettingsError) as refused:
        operator.execute({})
    assert str(refused.value) == (
        f"concurrent_leases=2: cannot be had with {operator.application!r}, which knows nothing of leases: it works on "
        "one partition. Leave it out, or submit a function with @partition_application"
    )


@pytest.mark.parametrize("given", [{"application": "job.jar"}, {"complete_on_success": True}])
def test_what_knows_nothing_of_leases_shares_nothing(given):
    operator = leased(max_leases=None, balance=True, **given)
    with pytest.raises(SettingsError, match="balance=True: cannot be had with"):
        operator.execute({})


def test_renewals_are_told_when_they_are_too_few():
    with pytest.raises(SettingsError, match=r"renewals_per_lease=1: is not a whole number above one\. Give 2 or more"):
        Settings(renewals_per_lease=1)


@pytest.mark.parametrize("given", [{"application": "job.jar"}, {"complete_on_success": True}])
def test_what_knows_nothing_of_leases_takes_none_together(given):
    operator = leased(max_leases=None, together=2, **given)
    with pytest.raises(SettingsError, match="together=2: cannot be had with"):
        operator.execute({})
