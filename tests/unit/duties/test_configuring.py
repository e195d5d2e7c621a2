"""The configuration as a document: partial updates, who was faster, and its history."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from airflow_coordination.duties.configuring import (
    config_at,
    newest_version,
    read_config,
    replace_config,
    set_config,
    versions,
)
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.planning.duties.configuration import DynamicConfig
from airflow_coordination.protocol.beside.documents import CONFIGURATION
from airflow_coordination.stores import open_store
from airflow_coordination.values.errors import ConfigurationChangedError
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError
from airflow_coordination.values.names import ALL, everybody


@pytest.fixture(params=["memory", "sqlite"])
def coordinator(request, tmp_path) -> SourceCoordinator:
    store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'c.db'}")
    store.setup()
    return SourceCoordinator(store, ALL, "owner")


@pytest.fixture
def stored(coordinator):
    """Write the document as it stands, by whatever code."""

    def stored(content: str, by: str = "eve") -> None:
        source = everybody(coordinator.partition_prefix)
        coordinator.documents.change(CONFIGURATION, lambda _: content, by, "another code", source)

    return stored


def test_nobody_has_set_anything(coordinator) -> None:
    found = read_config(coordinator)
    assert (found.config, found.version, found.author, found.at) == (DynamicConfig(), 0, None, None)
    assert list(versions(coordinator)) == []
    assert config_at(coordinator, 0) == found


def test_an_update_is_partial_and_says_who_and_why(coordinator) -> None:
    set_config(coordinator, {"maxSegmentsToMove": 10}, "ana", "more room")
    done = set_config(coordinator, {"pauseCoordination": True, "decommissioningNodes": "hot1"}, "bob", "works")
    assert (done.config, done.version) == (read_config(coordinator).config, 2)
    assert done.config == DynamicConfig(
        max_segments_to_move=10, pause_coordination=True, decommissioning_nodes=("hot1",)
    )
    assert (done.version, done.author, done.comment) == (2, "bob", "works")
    back = set_config(coordinator, {"maxSegmentsToMove": None}, "ana", "back")
    assert back.config.max_segments_to_move == 5
    assert back.config.pause_coordination is True


def test_the_document_holds_what_was_said_and_no_default(coordinator) -> None:
    """So that a default of newer code counts where nobody has said another."""
    set_config(coordinator, {"maxSegmentsToMove": 5, "locationGrace": "PT60M", "massLossPercent": None}, "ana", "w")
    document = coordinator.documents.newest(CONFIGURATION)
    assert json.loads(document.content) == {"maxSegmentsToMove": 5, "locationGrace": "PT1H"}


def test_what_changes_nothing_is_no_version(coordinator) -> None:
    set_config(coordinator, {"maxSegmentsToMove": 10}, "ana", "w")
    assert set_config(coordinator, {"maxSegmentsToMove": 10}, "bob", "w").author == "ana"
    assert len(list(versions(coordinator))) == 1


@pytest.mark.parametrize(
    ("changes", "by", "why", "message"),
    [
        ({"maxSegmentToMove": 1}, "ana", "w", "Did you mean 'maxSegmentsToMove'?"),
        ({"smartSegmentLoading": True}, "ana", "w", "means nothing here: every limit is what its key says"),
        ({"maxSegmentsToMove": "many"}, "ana", "w", "is no whole number from 0"),
        ({"maxSegmentsToMove": 1}, " ", "w", "by=' ': is empty. Say who acts and why"),
        ({"maxSegmentsToMove": 1}, "ana", "", "why='': is empty. Say who acts and why"),
    ],
)
def test_what_cannot_be_is_refused_and_writes_nothing(coordinator, changes, by, why, message) -> None:
    with pytest.raises(InvalidInputError, match=r".") as refused:
        set_config(coordinator, changes, by, why)
    assert message in str(refused.value)
    assert coordinator.documents.all() == []


def test_changes_of_different_keys_both_count(coordinator) -> None:
    set_config(coordinator, {"maxSegmentsToMove": 10}, "ana", "first", seen=0)
    done = set_config(coordinator, {"pauseCoordination": True}, "bob", "second", seen=0)
    assert (done.config.max_segments_to_move, done.config.pause_coordination) == (10, True)


def test_of_two_who_change_one_key_the_second_is_told_what_was_set_by_whom_and_why(coordinator) -> None:
    set_config(coordinator, {"maxSegmentsToMove": 10}, "ana", "more room", seen=0)
    set_config(coordinator, {"pauseCoordination": True}, "cid", "works")
    at = config_at(coordinator, 1).at
    with pytest.raises(ConfigurationChangedError) as told:
        set_config(coordinator, {"maxSegmentsToMove": 20, "locationGrace": "PT1M"}, "bob", "even more", seen=0)
    assert str(told.value) == (
        "The configuration has changed meanwhile: maxSegmentsToMove from 5 to 10, by ana at "
        f"{at.isoformat(timespec='seconds')} (version 1: more room). Nothing was changed. "
        "Look at version 2 of it, then say again what you want."
    )
    assert read_config(coordinator).version == 2


def test_who_wants_what_another_has_set_is_told_nothing(coordinator) -> None:
    set_config(coordinator, {"maxSegmentsToMove": 10}, "ana", "w", seen=0)
    done = set_config(coordinator, {"maxSegmentsToMove": 10, "massLossPercent": 70}, "bob", "w", seen=0)
    assert (done.config.max_segments_to_move, done.config.mass_loss_percent) == (10, 70)


def test_what_was_set_and_taken_back_is_no_conflict(coordinator) -> None:
    set_config(coordinator, {"maxSegmentsToMove": 10}, "ana", "w", seen=0)
    set_config(coordinator, {"maxSegmentsToMove": None}, "ana", "w")
    assert set_config(coordinator, {"maxSegmentsToMove": 7}, "bob", "w", seen=0).config.max_segments_to_move == 7


def test_without_a_version_what_counts_is_what_was_there_at_the_call(coordinator) -> None:
    """Somebody is faster between the look and the write."""
    others = SourceCoordinator(coordinator.store, ALL, "another")
    keys = iter([{"locationGrace": "PT1M"}, {"maxSegmentsToMove": 20}])
    look = coordinator.documents.look

    def slow(*asked):
        looked = look(*asked)
        if (changes := next(keys, None)) is not None:
            set_config(others, changes, "ana", "faster")
        return looked

    coordinator.documents.look = slow
    done = set_config(coordinator, {"pauseCoordination": True}, "bob", "w")
    assert (done.config.max_segments_to_move, done.config.location_grace.total_seconds()) == (20, 60)
    keys = iter([{"maxSegmentsToMove": 30}])
    with pytest.raises(ConfigurationChangedError, match="maxSegmentsToMove from 20 to 30, by ana at "):
        set_config(coordinator, {"maxSegmentsToMove": 40}, "bob", "w")


@pytest.mark.parametrize("version", [2, 99, -1])
def test_a_version_that_is_not_kept_is_named(coordinator, version) -> None:
    set_config(coordinator, {"maxSegmentsToMove": 10}, "ana", "w")
    for ask in (config_at, lambda *said: set_config(said[0], {"massLossPercent": 1}, "bob", "w", seen=said[1])):
        with pytest.raises(SettingsError) as refused:
            ask(coordinator, version)
        assert str(refused.value) == (
            f"version={version}: is no version of the configuration that is kept. "
            "See `airflow coordination config history`"
        )
    assert read_config(coordinator).version == 1


def test_history_says_what_each_version_changed(coordinator) -> None:
    for number in range(120):
        set_config(coordinator, {"maxSegmentsToMove": 10 + number}, "ana", f"change {number}")
    found = list(versions(coordinator))
    assert [each.configured.version for each in found] == list(range(120, 0, -1))
    assert [str(each) for each in found[0].changes] == ["maxSegmentsToMove from 128 to 129"]
    assert [str(each) for each in found[-1].changes] == ["maxSegmentsToMove from 5 to 10"]
    assert [each.configured.comment for each in islice(versions(coordinator, 3), 2)] == ["change 1", "change 0"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("nothing", "document coordinator='nothing': is no JSON"),
        ("[]", "config=[]: is no object"),
        ('{"newKey": 1}', "config.newKey='newKey': is not an option here"),
        ('{"maxSegmentsToMove": "1"}', "config.maxSegmentsToMove='1': is no whole number"),
    ],
)
def test_a_corrupt_document_is_never_taken_for_an_empty_one(coordinator, stored, content, message) -> None:
    stored(content)
    for ask in (
        lambda: read_config(coordinator),
        lambda: set_config(coordinator, {"massLossPercent": 1}, "bob", "w"),
    ):
        with pytest.raises(InvalidInputError) as refused:
            ask()
        assert str(refused.value).startswith(message)
    [version] = versions(coordinator)
    assert version.changes is None
    assert version.problem.startswith(message)


def test_a_corrupt_document_is_replaced_as_it_was_seen_and_stays_in_the_history(coordinator, stored) -> None:
    set_config(coordinator, {"maxSegmentsToMove": 10, "balanceThreshold": 4}, "ana", "w")
    stored("nothing")
    seen = newest_version(coordinator)
    assert (seen.configured.version, "is no JSON" in seen.problem) == (2, True)
    with pytest.raises(ConfigurationChangedError, match=r"version 2 is there, by .*, and not 1"):
        replace_config(coordinator, {"maxSegmentsToMove": 20}, "bob", "mended", 1)
    done = replace_config(coordinator, {"maxSegmentsToMove": 20, "locationGrace": None}, "bob", "mended", 2)
    assert (done.version, done.author, done.comment) == (3, "bob", "mended")
    assert read_config(coordinator).config == DynamicConfig(max_segments_to_move=20), "the others are the default"
    assert [each.changes is None for each in versions(coordinator)] == [True, True, False]
    set_config(coordinator, {"massLossPercent": 1}, "ana", "w", seen=3)
    with pytest.raises(SettingsError):
        replace_config(coordinator, {"maxSegmentToMove": 20}, "bob", "mended", 4)


def test_prefixes_have_configurations_of_their_own(coordinator) -> None:
    other = SourceCoordinator(coordinator.store, ALL, "owner", "blue")
    set_config(other, {"maxSegmentsToMove": 10}, "ana", "w")
    assert read_config(coordinator).version == 0
    assert read_config(SourceCoordinator(coordinator.store, "flights", "owner", "blue")).version == 1
