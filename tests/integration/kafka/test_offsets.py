"""Offsets of a consumer group, committed after endings, on a real broker (promise S27)."""

from __future__ import annotations

import json

import pytest

from airflow_coordination.follow_ups import Carried, CommitOffsets, FollowUpError
from tests.engines.ports import free_port


def test_s27_a_group_never_goes_back(kafka, topic, send, committed) -> None:
    send(range(30))
    for offset, reached in ((4, 4), (9, 9), (6, 9), (9, 9)):
        action = CommitOffsets(kafka, topic, {f"{topic}:0": offset})
        assert CommitOffsets.from_json(json.loads(json.dumps(action.to_json()))).carry_out() == Carried(1)
        assert committed()[0] == reached


def test_options_come_from_the_environment_of_who_does_it(kafka, topic, send, committed, monkeypatch) -> None:
    send(range(3))
    action = CommitOffsets("127.0.0.1:1", topic, {f"{topic}:0": 1}, "KAFKA_OPTIONS")
    with pytest.raises(FollowUpError, match=r"KAFKA_OPTIONS is no JSON object in this process's environment"):
        action.carry_out()
    monkeypatch.setenv("KAFKA_OPTIONS", json.dumps({"bootstrap.servers": kafka}))
    action.carry_out()
    assert committed()[0] == 1


def test_a_broker_that_is_not_there_says_so(topic, monkeypatch) -> None:
    from airflow_coordination.systems.kafka import offsets

    monkeypatch.setattr(offsets, "_SECONDS", 1.0)
    action = CommitOffsets(f"127.0.0.1:{free_port()}", topic, {f"{topic}:0": 1})
    with pytest.raises(FollowUpError, match=rf"Cannot commit offsets of group '{topic}' at 127.0.0.1:\d+: .*rights"):
        action.carry_out()
