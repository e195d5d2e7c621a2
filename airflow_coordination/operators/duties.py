"""The operator that runs a group of duties, and the DAGs of all groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_coordination.duties.groups.registry import configured, named, resolved
from airflow_coordination.duties.groups.round import GroupDuty
from airflow_coordination.duties.groups.running import GroupRun, GroupRunner
from airflow_coordination.hooks.connection import DEFAULT_CONNECTION
from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.hooks.identity import owner_of
from airflow_coordination.hooks.settings import configured_properties
from airflow_coordination.hooks.telemetry import task_stats
from airflow_coordination.hooks.text_fields import TextFields
from airflow_coordination.values.names import DUTIES

if TYPE_CHECKING:
    from airflow.sdk import DAG
    from airflow.sdk.definitions.context import Context


class RunDutiesOperator(TextFields):
    """Runs a group of duties once, if it is due and nobody else does; otherwise it says so, and succeeds.

    A duty that fails does not keep the others. When all were run the task fails, without another try: the next run of
    its DAG is the next try. Ingest needs none of this.

    Pushes ``{"ran": true, "duties": {"runRules": {"said": …, "counts": {…}, "error": null}}, "rival": null, …}``.

    :param group: the name of the group. (templated)
    :param properties: Druid's properties, as a mapping or the path of its ``runtime.properties``; by default the file
        that ``[coordination] duties_properties`` names, and the built-in groups where it names none.
    :param duties: duties of your own that the group names, as they are; others are found by entry points.
    :param sources: the sources that are served; all of the store by default.
    :param dry_run: say what each duty would do, and change nothing.
    :param output_root: where blocks are published, for ``killStalePending``; the connection's by default. (templated)
    :param coordination_conn_id: the connection of the store.
    :param partition_prefix: keeps deployments that share a store apart. (templated)
    :param ownership_timeout: how long the group's lease lasts without renewal (timedelta or seconds).
    :raises SettingsError: when properties cannot be, naming what.
    """

    template_fields: Sequence[str] = ("group", "output_root", "partition_prefix")
    text_fields: Sequence[str] = template_fields
    ui_color = "#e6f4ea"

    def __init__(
        self,
        *,
        group: str,
        properties: Mapping[str, object] | Path | str | None = None,
        duties: Sequence[GroupDuty] = (),
        sources: Sequence[str] | None = None,
        dry_run: bool = False,
        output_root: str | None = None,
        coordination_conn_id: str = DEFAULT_CONNECTION,
        partition_prefix: str | None = None,
        ownership_timeout: timedelta | float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.group = group
        self.properties = properties
        self.own_duties = tuple(duties)
        self.sources = sources
        self.only_look = dry_run
        self.output_root = output_root
        self.coordination_conn_id = coordination_conn_id
        self.partition_prefix = partition_prefix
        self.ownership_timeout = ownership_timeout

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the group.

        :raises AirflowFailException: when a duty has failed, after all were run.
        :raises SettingsError: when there is no such group, or properties cannot be.
        """
        found = configured(configured_properties() if self.properties is None else self.properties, self.own_duties)
        for line in found.notes:
            self.log.info(line)
        for line in found.warnings:
            self.log.warning(line)
        group = resolved(named(found, self.group), self.own_duties)
        hook = CoordinationHook(self.coordination_conn_id)
        runner = GroupRunner(
            hook.get_conn(),
            owner_of(context),
            prefix=self.partition_prefix or None,
            start_delay=found.start_delay,
            margins=found.margins,
            output_root=hook.output_root(self.output_root),
            only=self.sources,
            settings=hook.settings({"ownership_timeout": self.ownership_timeout}),
            metrics=task_stats(context, DUTIES),
        )
        run = runner.look(group) if self.only_look else runner.run(group)
        self._tell(run)
        return summary(run)

    def _tell(self, run: GroupRun) -> None:
        if run.rival is not None:
            self.log.info("%s leads %s until %s; nothing was done here.", run.rival, run.group, run.rival_until)
        elif run.paused:
            self.log.info("pauseCoordination is true; nothing was done.")
        elif not run.ran:
            self.log.info("%s is not due until %s.", run.group, run.waits_until)
        elif run.state.failing:
            errors = "; ".join(f"{name}: {run.state.duties[name].error}" for name in run.state.failing)
            raise AirflowFailException(f"Of group {run.group} failed {errors}. The other duties ran.")


def summary(run: GroupRun) -> dict[str, Any]:
    """Return what became of a group, as JSON values."""
    return {
        "ran": run.ran,
        "paused": run.paused,
        "rival": run.rival,
        "waits_until": run.waits_until.isoformat() if run.waits_until else None,
        "duties": {
            name: {"said": result.said, "counts": dict(result.counts), "error": result.error}
            for name, result in run.state.duties.items()
        },
    }


def duty_dags(
    dag_id: str = "coordination",
    *,
    properties: Mapping[str, object] | Path | str | None = None,
    duties: Sequence[GroupDuty] = (),
    start_date: datetime | None = None,
    default_args: Mapping[str, Any] | None = None,
    **operator: Any,
) -> dict[str, DAG]:
    """Return a DAG for each group of duties, by its id: ``globals().update(duty_dags())`` is a whole DAG file.

    Each is scheduled by its group's period, has one task, and one run at a time. A run that comes while another
    scheduler has the group says who, and succeeds.

    :param dag_id: how their ids begin: ``coordination__IndexingServiceDuties``.
    :param properties: as for :class:`RunDutiesOperator`; so are ``duties`` and everything else that it takes.
    :param start_date: from when on they are scheduled; at once by default.
    :param default_args: of the DAGs.
    :raises SettingsError: when properties cannot be, naming what.
    """
    from airflow.sdk import DAG

    found = configured(configured_properties() if properties is None else properties, duties)
    made: dict[str, DAG] = {}
    for group in found.groups:
        dag = DAG(
            f"{dag_id}__{group.name}",
            schedule=group.period,
            start_date=start_date,
            catchup=False,
            max_active_runs=1,
            default_args=dict(default_args or {}),
            tags=["coordination", "duties"],
            description=f"Duties of group {group.name}: {', '.join(group.duties)}",
        )
        RunDutiesOperator(
            task_id=group.name, group=group.name, properties=properties, duties=duties, dag=dag, **operator
        )
        made[dag.dag_id] = dag
    return made
