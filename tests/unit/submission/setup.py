"""A task and its driver, without either."""

import json
from types import SimpleNamespace

from airflow_coordination.leases import Owner, SourceCoordinator
from airflow_coordination.protocol.metrics import CountingMetrics
from airflow_coordination.stores import open_store
from airflow_coordination.submission.driver_reports import DriverReports
from airflow_coordination.submission.watch import Watch

COUNTED = "flights_source_coordinator_partitionsCompleted"


class Case:
    """A task that holds ``mine``, on which its driver works, beside partitions of others."""

    def __init__(self, *, several):
        self.store = open_store("memory://")
        self.metrics = CountingMetrics()
        mine, other = (Owner.of_task("host", "dag", "run", task, 0, 1).text for task in ("task", "other"))
        self.coordinator = SourceCoordinator(self.store, "flights", mine, metrics=self.metrics)
        others = SourceCoordinator(self.store, "flights", other)
        self.coordinator.create_partitions(["mine", "held", "free", "next"])
        self.lease = self.coordinator.get_next_partition(hint="mine")
        self.held = others.get_next_partition(hint="held")
        self.began = self.coordinator.begin("mine", self.lease.fence)
        self.ti = SimpleNamespace(map_index=-1, pushed=[])
        self.ti.xcom_push = lambda key, value: self.ti.pushed.append(value)
        context = {"ti": self.ti, "task": SimpleNamespace(spark_ui_url="")}
        self.ended = []
        self.watch = Watch(self.coordinator, self.lease, lambda: self.ended.append(True))
        self.take = DriverReports(context, self.watch, self.coordinator, several=several)

    def rows(self):
        return [self.coordinator.partition(key) for key in ("mine", "held", "free", "next")]

    def tell(self, event, **facts):
        self.take(json.dumps({"event": event, **facts}))
