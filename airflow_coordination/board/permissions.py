"""Who may see a source, and who may act on it: a source belongs to the DAGs that registered it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.models.dag import DagModel
from airflow.utils.session import create_session
from sqlalchemy import select


class Permissions:
    """What one user may do, asked of Airflow's auth manager.

    An auth manager may say yes to a DAG that does not exist, and knows a DAG's team only when it is told. So both are
    looked up first, once for all DAGs of a request.

    :param user: who asks.
    :param dags: the DAGs that will be asked about.
    """

    def __init__(self, user: BaseUser, dags: Iterable[str]) -> None:
        self._user = user
        self._teams = _teams(sorted(set(dags)))

    def may_see(self, dags: frozenset[str]) -> bool:
        """Return whether the user may read the task instances of one of these DAGs."""
        return any(self._may("GET", dag) for dag in dags)

    def may_act(self, dags: frozenset[str]) -> bool:
        """Return whether the user may edit the task instances of all of these DAGs, and there are any."""
        return bool(dags) and all(self._may("PUT", dag) for dag in dags)

    def _may(self, method: Any, dag: str) -> bool:
        if dag not in self._teams:
            return False
        details = DagDetails(id=dag, team_name=self._teams[dag])
        return get_auth_manager().is_authorized_dag(
            method=method, access_entity=DagAccessEntity.TASK_INSTANCE, details=details, user=self._user
        )


def _teams(dags: list[str]) -> dict[str, str | None]:
    """Return the team of each DAG that exists, ``None`` for one that has none."""
    if not dags:
        return {}
    with create_session() as session:
        known = session.scalars(select(DagModel.dag_id).where(DagModel.dag_id.in_(dags))).all()
        teams = DagModel.get_dag_id_to_team_name_mapping(dags, session=session)
    return {dag: teams.get(dag) for dag in known}
