"""What an index spares a reader on S3, in requests."""

from __future__ import annotations

from collections import Counter

import pytest

from airflow_coordination.outputs import index_outputs, published_manifests
from airflow_coordination.outputs.index import LEAST
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.storage import opened
from tests.upkeep import DATASET, SOURCE, Dataset


@pytest.fixture
def data(root):
    found = Dataset(open_store("memory://"), root)
    ingest = found.ingest()
    ingest.create_partitions(f"k{number:03}" for number in range(LEAST))
    while (lease := ingest.get_next_partition()) is not None:
        ingest.complete(lease, [found.block(lease, [lease.key])])
    return found


@pytest.fixture
def asked(root):
    """How often each operation of S3 was sent."""
    found = Counter()
    client = opened(root)[0]
    client.invalidate_cache()

    def note(model, **_):
        found[model.name] += 1

    client.connect()
    client.s3.meta.events.register("before-call.s3", note)
    yield found
    client.s3.meta.events.unregister("before-call.s3", note)


def test_a_reader_of_many_partitions_asks_for_one_list_and_one_file(data, asked):
    manifests = published_manifests(data.store, SOURCE, DATASET)
    assert asked["GetObject"] == LEAST
    index_outputs(data.store, SOURCE, DATASET)
    asked.clear()
    assert published_manifests(data.store, SOURCE, DATASET) == manifests
    assert asked == {"ListObjectsV2": 1, "GetObject": 1}
