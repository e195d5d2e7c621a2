"""Permissions: who may see a source, and who may act on it; a source belongs to the DAGs that registered it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.models.dag import DagModel
from airflow.models.dagbundle import DagBundleModel
from airflow.models.team import Team
from airflow.utils.session import create_session
from sqlalchemy import select

_NO_DAG: Final = "(any other DAG)"
"""An id that no DAG can have: an auth manager that grants DAGs one by one says yes to it only where it grants all.

A question without an id is another one: FAB answers it by the role alone, and asks for no DAG at all.
"""


class Permissions:
    """The permissions of one user, asked of Airflow's auth manager (docs/decisions/0034).

    An auth manager may say yes to a DAG that does not exist, and knows a DAG's team only when it is told. So both are
    looked up first, once for all DAGs of a request. What no DAG holds is theirs who may edit every DAG.

    :param user: who asks.
    :param dags: the DAGs that will be asked about.
    """

    def __init__(self, user: BaseUser, dags: Iterable[str]) -> None:
        self._user = user
        self._teams = _teams(sorted(set(dags)))

    @property
    def known(self) -> list[str]:
        """The DAGs of these that Airflow still knows, by name."""
        return sorted(self._teams)

    def may_see(self, dags: frozenset[str]) -> bool:
        """Return whether the user may read the task instances of one of these DAGs that Airflow still knows."""
        known = self._known(dags)
        return any(self._may("GET", dag) for dag in known) if known else self._may_edit_all

    def may_act(self, dags: frozenset[str]) -> bool:
        """Return whether the user may edit the task instances of all of these DAGs that Airflow still knows."""
        known = self._known(dags)
        return all(self._may("PUT", dag) for dag in known) if known else self._may_edit_all

    def may_trigger(self, dag: str) -> bool:
        """Return whether the user may trigger runs of a DAG, by the same question as Airflow's own route asks."""
        return dag in self._teams and self._is_authorized("POST", self._details(dag), DagAccessEntity.RUN)

    def _known(self, dags: frozenset[str]) -> list[str]:
        return [dag for dag in dags if dag in self._teams]

    def _may(self, method: Any, dag: str) -> bool:
        return self._is_authorized(method, self._details(dag))

    def _details(self, dag: str) -> DagDetails:
        return DagDetails(id=dag, team_name=self._teams[dag])

    @cached_property
    def _may_edit_all(self) -> bool:
        """Whether the user may edit every DAG that there is or will be, in every team: what no DAG holds is theirs."""
        with create_session() as session:
            teams = (None, *session.scalars(select(Team.name).order_by(Team.name)))
        return all(self._is_authorized("PUT", DagDetails(id=_NO_DAG, team_name=team)) for team in teams)

    def _is_authorized(
        self, method: Any, details: DagDetails, entity: DagAccessEntity = DagAccessEntity.TASK_INSTANCE
    ) -> bool:
        return get_auth_manager().is_authorized_dag(
            method=method, access_entity=entity, details=details, user=self._user
        )


def _teams(dags: list[str]) -> dict[str, str | None]:
    """Return the team of each DAG that exists, ``None`` for one that has none; Airflow 3.1 has no function for it."""
    if not dags:
        return {}
    named = select(DagModel.dag_id, Team.name).outerjoin(DagBundleModel, DagModel.bundle_name == DagBundleModel.name)
    with create_session() as session:
        found = session.execute(named.outerjoin(DagBundleModel.teams).where(DagModel.dag_id.in_(dags)))
        return dict(found.tuples().all())
