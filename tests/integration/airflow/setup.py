"""What tests begin with: a DAG where Airflow finds it, a source behind the connection of the store."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from airflow_coordination.leases import SourceCoordinator


def store_dag(dag: Any, bundle: str = "testing") -> None:
    """Store a DAG as a scheduler would find it.

    :param bundle: the one that it comes from.
    """
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
    from airflow.models.dagbundle import DagBundleModel
    from airflow.utils.session import create_session

    with create_session() as session:
        session.merge(DagBundleModel(name=bundle))
    bag = DagBag(dag_folder=os.devnull)
    bag.bag_dag(dag)
    sync_bag_to_db(bag, bundle, None)


@contextmanager
def flights_behind(connection: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[SourceCoordinator]:
    """Give the source ``flights`` with partition ``a``, in a new store behind the connection ``coordination_default``.

    :param connection: its fields; ``host`` is the store's URL.
    """
    from airflow_coordination.stores import open_store

    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_DEFAULT", json.dumps(connection))
    store = open_store(connection["host"])
    store.setup()
    coordinator = SourceCoordinator(store, "flights", "test")
    coordinator.create_partitions(["a"])
    yield coordinator
    store.close()
