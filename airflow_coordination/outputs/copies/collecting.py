"""The files of copies that were dropped or made anew, deleted in each location by the collector of outputs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.collector import Collected, collect
from airflow_coordination.outputs.copies.locations import locations_document, missing, sites_of
from airflow_coordination.values.names import COPIES, compose_copies


def collect_copies(
    coordinator: SourceCoordinator, older_than: timedelta, *, dry_run: bool
) -> tuple[dict[str, Collected], Mapping[str, str]]:
    """Delete in each location what no reader of a copy of a source can follow.

    :param older_than: leave what was written or dropped more recently: longer than any reader reads.
    :param dry_run: only count.
    :return: the results by location, and why others could not be read.
    :raises OutputError: when a storage cannot be used, or something may not be deleted.
    """
    store, prefix = coordinator.store, coordinator.partition_prefix
    if compose_copies(coordinator.source, prefix) is None:
        return {}, {}
    sites = sites_of(locations_document(store, prefix))
    unread = missing(sites, store.store_id, prefix)
    found = {
        site.name: collect(
            store,
            f"{COPIES}{coordinator.source}",
            site.root,
            older_than=older_than,
            dry_run=dry_run,
            partition_prefix=prefix,
        )
        for site in sites
        if site.name not in unread
    }
    return found, unread
