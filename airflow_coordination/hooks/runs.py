"""Runs of Airflow's DAGs that are triggered for one partition, as ``airflow dags trigger`` triggers them."""

from __future__ import annotations

from typing import Any, Final

from airflow_coordination.values.input_errors import SettingsError

CLI: Final = "cli"
UI: Final = "ui"


class AirflowRuns:
    """The DAGs in the database of this Airflow.

    :param through: what people trigger runs by, as Airflow calls it: :data:`CLI` or :data:`UI`.
    """

    def __init__(self, through: str = CLI) -> None:
        self._through = through

    def is_paused(self, dag_id: str) -> bool:
        """Return whether a DAG is paused.

        :raises SettingsError: when there is none of this name.
        """
        from airflow.models.dag import DagModel

        found = DagModel.get_current(dag_id)
        if found is None:
            raise SettingsError("--dag", dag_id, "is no DAG of this Airflow", "Name one that `airflow dags list` shows")
        return bool(found.is_paused)

    def hindrance(self, dag_id: str) -> str | None:
        """Return why a run of a DAG would not be triggered, or would not begin, with what to do; ``None`` if it would.

        Airflow's own API refuses the same, but for a DAG that is paused: its run would wait.
        """
        from airflow.models.dag import DagModel

        found = DagModel.get_current(dag_id)
        if found is None or found.is_stale:
            return "is no DAG that this Airflow finds: bring its file back"
        if found.has_import_errors:
            return "has import errors: mend its file"
        allowed = getattr(found, "allowed_run_types", None)  # from Airflow 3.2 on
        if allowed is not None and "manual" not in allowed:
            return "allows no manual runs: allow them, or reset the partition and wait for its schedule"
        return "is paused, so that nothing would run: unpause it" if found.is_paused else None

    def trigger(self, dag_id: str, conf: dict[str, Any], by: str) -> str:
        """Trigger a run, and return its id; raises what Airflow raises.

        :param by: who does it.
        """
        from airflow.api.common.trigger_dag import trigger_dag
        from airflow.utils.types import DagRunTriggeredByType

        through = DagRunTriggeredByType(self._through)
        run = trigger_dag(dag_id, triggered_by=through, triggering_user_name=by, conf=conf)
        return str(run.run_id) if run is not None else "(unknown)"
