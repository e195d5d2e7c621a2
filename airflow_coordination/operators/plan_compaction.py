"""The operator that plans a source's compaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_coordination.duties.compaction.indexing import index_datasets
from airflow_coordination.duties.compaction.plan import State
from airflow_coordination.duties.compaction.planner import PERIOD, Planned, Planner
from airflow_coordination.hooks.connection import DEFAULT_CONNECTION
from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.hooks.identity import owner_of
from airflow_coordination.hooks.settings import time_given
from airflow_coordination.hooks.telemetry import task_stats
from airflow_coordination.hooks.text_fields import TextFields
from airflow_coordination.planning.compaction.configuration import CompactionConfig, by_dataset
from airflow_coordination.planning.compaction.slots import CompactionSlots
from airflow_coordination.values.input_errors import SettingsError

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context


class PlanCompactionOperator(TextFields):
    """Plans which small files of a source are merged next, and makes groups of them claimable in ``~merged/<source>``.

    Groups are leased partitions: ``PartitionsSensor`` and ``LeasedSparkSubmitOperator(application=upkeep.__file__)`` of
    that source do the work. Ingest does not wait for any of it, and readers see the same rows before, at and after.
    What is new is added to the indexes of the datasets then, so that readers plan with few files.

    Pushes ``{"begun": […], "under_way": 0, "waiting": 0, "failed": [], "percent": {…}, "rival": null}``. While somebody
    else plans, it says who and until when, and succeeds; so it does where there is nothing new.

    :param of: the name of the source whose partitions have published. (templated)
    :param configs: how its datasets are compacted, each once.
    :param slots: how many groups may be claimable or held at once.
    :param period: from one run to the next (timedelta or seconds); groups that have failed wait for so many of them.
    :param full: look at everything, whatever the history says.
    :param coordination_conn_id: the connection of the store.
    :param partition_prefix: keeps deployments that share a store apart. (templated)
    :param ownership_timeout: how long the planner's lease lasts without renewal (timedelta or seconds).
    """

    template_fields: Sequence[str] = ("of", "partition_prefix")
    text_fields: Sequence[str] = template_fields
    ui_color = "#e6f4ea"

    def __init__(
        self,
        *,
        of: str,
        configs: Sequence[CompactionConfig],
        slots: CompactionSlots | None = None,
        period: timedelta | float = PERIOD,
        full: bool = False,
        coordination_conn_id: str = DEFAULT_CONNECTION,
        partition_prefix: str | None = None,
        ownership_timeout: timedelta | float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.of = of
        self.configs = _checked(configs)
        self.slots = slots or CompactionSlots()
        self.period = time_given("period", period) or PERIOD
        self.full = full
        self.coordination_conn_id = coordination_conn_id
        self.partition_prefix = partition_prefix
        self.ownership_timeout = ownership_timeout

    def execute(self, context: Context) -> dict[str, Any]:
        """Plan, and make groups claimable.

        :raises SettingsError: when the store has never heard of the source.
        :raises InvalidInputError: when a configuration is too long for a group's payload.
        :raises OutputError: when the manifest of what is merged is missing or was changed.
        """
        hook = CoordinationHook(self.coordination_conn_id)
        coordinator = hook.coordinator(
            self.of,
            owner_of(context),
            partition_prefix=self.partition_prefix,
            settings=hook.settings({"ownership_timeout": self.ownership_timeout}),
            metrics=task_stats(context, self.of),
        )
        coordinator.looking.check_known()
        planner = Planner(coordinator, self.slots, self.period)
        done = planner.run(self.configs, full=self.full)
        if done.rival is not None:
            until = f" until {done.rival_until.isoformat(timespec='seconds')}" if done.rival_until else ""
            self.log.info("%s plans the compaction of %s%s; nothing was done here.", done.rival, self.of, until)
        if done.plan is not None:  # so that a sensor knows the source before it has a group
            planner.groups.supplying.register_dag(self.dag_id)
            index_datasets(coordinator, [config.dataset for config in self.configs])
        self._tell(done)
        return summary(done)

    def _tell(self, done: Planned) -> None:
        for task in done.plan.tasks if done.plan else ():
            about = f", {task.detail}" if task.detail else ""
            self.log.info("%s: %s (%s), %d bytes%s.", task.key, task.state, task.reason, task.bytes, about)
        for name, progress in done.plan.progress.items() if done.plan else ():
            self.log.info("Dataset %s: %.1f %% of what can be compacted is.", name, progress.percent)
        for name, still in done.still.items():
            said = "Dataset %s: as before, %d groups are under way, %d wait for a slot; %.1f %% is compacted."
            self.log.info(said, name, still.under_way, still.waiting, still.percent)


def summary(done: Planned) -> dict[str, Any]:
    """Return what a run has done, as JSON values."""
    tasks, still = done.plan.tasks if done.plan else (), done.still.values()
    percent = {name: round(each.percent, 1) for name, each in done.plan.progress.items()} if done.plan else {}
    return {
        "begun": list(done.begun),
        "under_way": sum(task.state is State.UNDER_WAY for task in tasks) + sum(each.under_way for each in still),
        "waiting": sum(task.state is State.NO_SLOT for task in tasks) + sum(each.waiting for each in still),
        "failed": [task.key for task in tasks if task.state is State.FAILED],
        "percent": percent | {name: each.percent for name, each in done.still.items()},
        "rival": done.rival,
    }


def _checked(configs: object) -> list[CompactionConfig]:
    """Return configurations if they are some.

    :raises SettingsError: when there are none, or something else is among them.
    :raises InvalidInputError: when two are for one dataset.
    """
    remedy = 'Give such as [CompactionConfig("clean", granularity="MONTH")]'
    if not isinstance(configs, Sequence) or isinstance(configs, str) or not configs:
        raise SettingsError("configs", configs, "is no list of configurations", remedy)
    if odd := [each for each in configs if not isinstance(each, CompactionConfig)]:
        raise SettingsError("configs", odd[0], f"is {type(odd[0]).__name__}, no CompactionConfig", remedy)
    return list(by_dataset(configs).values())
