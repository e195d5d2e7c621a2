"""The hook for connections of type ``coordination``."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import Any

from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook

from airflow_coordination.hooks.amazon import AmazonAccess, make_client, no_such_connection, read_access
from airflow_coordination.hooks.connection import (
    CONNECTION_TYPE,
    DEFAULT_CONNECTION,
    StoreConnection,
    dynamodb_options,
    embedded_connection,
    read_connection,
)
from airflow_coordination.hooks.settings import configured_output_root, merge_settings
from airflow_coordination.hooks.single_machine import check_executor
from airflow_coordination.hooks.telemetry import TaggedStats
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.metrics import Metrics
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.remedies import opened_by
from airflow_coordination.stores.config import StoreConfig
from airflow_coordination.stores.opening import open_store
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.settings import Settings

_log = logging.getLogger(__name__)
_opening = threading.Lock()


class CoordinationHook(BaseHook):
    """Opens the partition store of a connection, once per process and only when it is needed.

    Without a connection ``coordination_default`` an SQLite file under ``AIRFLOW_HOME`` serves, created and
    set up at first use, where everything runs on one machine.

    :param coordination_conn_id: the Airflow connection.
    """

    conn_name_attr = "coordination_conn_id"
    default_conn_name = DEFAULT_CONNECTION
    conn_type = CONNECTION_TYPE
    hook_name = "Coordination store"

    def __init__(self, coordination_conn_id: str = DEFAULT_CONNECTION, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.coordination_conn_id = coordination_conn_id

    @cached_property
    def connection(self) -> StoreConnection:
        """The connection, read.

        :raises SettingsError: when it does not make sense.
        :raises AirflowNotFoundException: when there is none of this id, and it is not the default one.
        """
        try:
            said = read_connection(self.get_connection(self.coordination_conn_id))
        except AirflowNotFoundException:
            return self._absent()
        if said.aws_conn_id is None:
            return said
        try:
            return replace(said, amazon=read_access(self.get_connection(said.aws_conn_id)))
        except AirflowNotFoundException as error:
            raise no_such_connection(said.aws_conn_id) from error

    async def resolve(self) -> None:
        """Look the connection up without blocking the triggerer's loop; the same errors as :attr:`connection`."""
        from asgiref.sync import sync_to_async

        try:
            found = await self.aget_connection(self.coordination_conn_id)
        except AirflowNotFoundException:
            self.connection = self._absent()
            return
        said = await sync_to_async(read_connection)(found)
        if said.aws_conn_id is not None:
            try:
                amazon = await self.aget_connection(said.aws_conn_id)
            except AirflowNotFoundException as error:
                raise no_such_connection(said.aws_conn_id) from error
            said = replace(said, amazon=await sync_to_async(read_access)(amazon))
        self.connection = said

    def _absent(self) -> StoreConnection:
        if self.coordination_conn_id != DEFAULT_CONNECTION:
            raise AirflowNotFoundException(
                f"The connection {self.coordination_conn_id!r} is not defined. "
                f"Create it with the type {CONNECTION_TYPE!r}, or leave coordination_conn_id out."
            )
        return embedded_connection()

    def get_conn(self) -> PartitionStore:
        """Return the store; every hook of this process on the same one shares it.

        :raises SettingsError: when the store can serve one machine only and Airflow runs on several.
        :raises StoreUnavailableError: when it cannot be reached.
        """
        check_executor(self.connection.store)
        with _opening:
            store = _opened(os.getpid(), self.connection.store, self.connection.embedded, self.connection.amazon)
            opened_by(store, self.coordination_conn_id)
            return store

    def coordinator(
        self,
        source: str,
        owner: str,
        *,
        partition_prefix: str | None = None,
        settings: Settings | None = None,
        metrics: Metrics | None = None,
    ) -> SourceCoordinator:
        """Return a coordinator for ``source`` on this store.

        :param owner: who acts; see :func:`airflow_coordination.hooks.identity.owner_of`.
        :param partition_prefix: the connection's by default, from which it must not differ.
        :param settings: from :meth:`settings`; without an operator's arguments by default.
        :param metrics: where the seed's metrics go; by default Airflow's ``Stats``, tagged with the source.
        """
        return SourceCoordinator(
            self.get_conn(),
            source=source,
            owner=owner,
            partition_prefix=partition_prefix or None,  # a template may be empty
            settings=settings or self.settings({}),
            metrics=metrics or TaggedStats({"source": source}),
        )

    def settings(self, arguments: Mapping[str, Any]) -> Settings:
        """Return the settings: ``arguments`` before the connection's, the configuration's, the defaults."""
        return merge_settings(self.connection.settings, arguments)

    def output_root(self, argument: str | None) -> str | None:
        """Return where blocks are published: ``argument`` before the connection's, before the configuration's."""
        return argument or self.connection.output_root or configured_output_root()

    def test_connection(self) -> tuple[bool, str]:
        """Return whether the store answers, and what it is; for the button in Airflow's connection form."""
        try:
            store = self.get_conn()
            return True, f"Store {store.store_id} answers at {store.description}"
        except CoordinationError as error:
            return False, str(error)


@cache
def _opened(pid: int, config: StoreConfig, embedded: bool, amazon: AmazonAccess | None) -> PartitionStore:
    """Open a store; the process id keeps a fork from using its parent's connections."""
    options = dynamodb_options(config)
    if options is not None and amazon is not None:
        from airflow_coordination.stores.dynamodb.store import DynamoDBStore

        dynamodb = DynamoDBStore(options, client=partial(make_client, amazon))
        dynamodb.partition_prefix = config.partition_prefix
        return dynamodb
    store = open_store(config)
    if embedded:
        _log.info("No connection %r is defined: partitions are kept in %s", DEFAULT_CONNECTION, store.description)
        store.setup()
    return store
