"""What the operators say about their arguments while a DAG file is parsed."""

import sys

import pytest

from airflow_coordination.leases import SettingsError
from airflow_coordination.operators import CreatePartitionsOperator, LeasedSparkSubmitOperator
from airflow_coordination.sensors import PartitionsSensor


def leased(**arguments):
    return LeasedSparkSubmitOperator(task_id="process", application="job.py", **({"source": "flights"} | arguments))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: leased(on_empty="fail"), "on_empty='fail': is not a choice. Give one of success, skip"),
        (lambda: leased(on_negative="close"), "on_negative='close': is not a choice. Give one of fail, give up"),
        (lambda: leased(on_clear="maybe"), "on_clear='maybe': is not a choice. Give one of explain, reset"),
        (
            lambda: leased(max_leases=0),
            "max_leases=0: is not a whole number above zero. Give 1 or more, or None for all",
        ),
        (
            lambda: leased(max_leases=None, on_clear="reset"),
            "on_clear='reset': cannot be had with max_leases=None: a task does not remember thousands of partitions. "
            "Use `airflow coordination reset`, or max_leases=1",
        ),
        (
            lambda: PartitionsSensor(task_id="s", source="flights", until="done"),
            "until='done': is nothing to wait for. Give 'claimable' or 'completed'",
        ),
        (lambda: PartitionsSensor(task_id="s", source="flights", max_hints=0), "max_hints=0: is not above zero."),
        (
            lambda: CreatePartitionsOperator(task_id="c", source="flights", supplier=["a"]),
            "supplier=['a']: cannot be called. Give a function with one parameter, the global",
        ),
    ],
)
def test_bad_arguments_are_told_at_once(make, message):
    with pytest.raises(SettingsError) as refused:
        make()
    assert message in str(refused.value)


def test_parsing_opens_no_store_and_no_connection(tmp_path, monkeypatch):
    """Wall 5: importing a DAG file touches neither the store nor the network."""
    opened = []

    def watch(event, arguments):
        if event in ("socket.connect", "sqlite3.connect", "subprocess.Popen"):
            opened.append((event, arguments))

    sys.addaudithook(watch)
    leased()
    PartitionsSensor(task_id="s", source="flights")
    CreatePartitionsOperator(task_id="c", source="flights", supplier=lambda state: [])
    LeasedSparkSubmitOperator.partial(task_id="p", source="flights", application="job.py").expand(hint=["a"])
    assert opened == []
