"""Documents say how datasets are compacted, before what the last run remembers."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_coordination.compaction import CompactionConfig
from airflow_coordination.duties.compaction.configured import compaction_document, set_compaction, with_documents
from airflow_coordination.duties.compaction.planner import Planner
from airflow_coordination.stores import open_store
from airflow_coordination.values.input_errors import InvalidInputError
from tests.unit.duties.compaction.made import config, planner, publish
from tests.upkeep import Dataset

MONTHS = '{"segmentGranularity": "MONTH", "skipOffsetFromLatest": "P0D", "intervalFromKey": "%Y-%m-%d"}'


def compaction_configs(coordinator):
    """Return how the datasets of a source are compacted, as the duty asks for it."""
    return with_documents(coordinator, Planner(coordinator).remembered().configs())


@pytest.fixture(params=["memory", "sqlite"])
def data(request, tmp_path: Path):
    store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'c.db'}")
    store.setup()
    found = Dataset(store, tmp_path / "output")
    publish(found, "2013-01-03", "2013-02-01")
    yield found
    store.close()


def test_where_nobody_has_said_anything_there_is_nothing(data) -> None:
    assert compaction_configs(data.ingest()) == []
    with pytest.raises(InvalidInputError, match="Run PlanCompactionOperator, or `compaction set`"):
        planner(data).configs()


def test_a_document_is_enough_for_a_plan_and_for_the_duty(data) -> None:
    set_compaction(data.ingest(), "clean", MONTHS, "ana", "small files")
    assert compaction_configs(data.ingest()) == planner(data).configs() == [config()]
    assert len(planner(data).look().begins) == 2


def test_documents_come_before_what_is_remembered_and_other_datasets_stay_as_they_were(data) -> None:
    raw = CompactionConfig("raw", granularity="DAY")
    planner(data).run([config(), raw])
    assert compaction_configs(data.ingest()) == [config(), raw]
    set_compaction(data.ingest(), "clean", '{"enabled": false}', "ana", "off")
    assert compaction_configs(data.ingest()) == [CompactionConfig("clean", enabled=False), raw]
    assert Planner(data.ingest()).remembered().configs() == [config(), raw]
    assert Planner(data.ingest()).news({"clean": CompactionConfig("clean", enabled=False)}).is_new


def test_the_document_holds_what_was_said_and_no_default(data) -> None:
    written = set_compaction(
        data.ingest(), "clean", '{"dataSource": "clean", "deadRowsPercent": 20, "sortBy": null}', "ana", "w"
    )
    assert (written.name, written.content) == ("compaction/clean", '{"dataset":"clean","deadRowsPercent":20}')


@pytest.mark.parametrize(
    ("dataset", "text", "message"),
    [
        ("clean", "{", "compaction='{': is no JSON"),
        ("clean", '{"dataset": "raw"}', "compaction.dataset='raw': is another dataset than 'clean'"),
        ("~7~clean", "{}", "Leave out the ~"),
        ("clean", '{"also": ' + '{"a":' * 9 + "1" + "}" * 9 + "}", "is no JSON (nested deeper than 8 levels)"),
    ],
)
def test_what_cannot_be_writes_nothing(data, dataset, text, message) -> None:
    with pytest.raises(InvalidInputError) as refused:
        set_compaction(data.ingest(), dataset, text, "ana", "w")
    assert message in str(refused.value)
    assert data.ingest().documents.all() == []


def test_a_corrupt_document_is_never_taken_for_none(data) -> None:
    data.ingest().documents.change(compaction_document("clean"), lambda _: '{"newer": 1}', "eve", "w")
    with pytest.raises(InvalidInputError, match=r"compaction/clean\.newer=1: is unknown"):
        compaction_configs(data.ingest())
