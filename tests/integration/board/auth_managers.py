"""Users of Airflow's two own auth managers with the same rights: a role, on the DAGs of some teams."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Final

TEAM_DAG: Final = "board_team_dag"
OPEN_DAG: Final = "board_open_dag"
SIMPLE: Final = "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager"
FAB: Final = "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager"
Tokens = Callable[[str, list[str]], str]
"""What makes the token of a role in some teams."""
_SETTING: Final = "AIRFLOW__CORE__AUTH_MANAGER"


@contextmanager
def users_of(manager: str) -> Iterator[Tokens]:
    """Make Airflow ask this auth manager meanwhile, and give the tokens of its users."""
    from airflow.api_fastapi.app import create_auth_manager

    before = os.environ.get(_SETTING)
    os.environ[_SETTING] = manager
    try:
        yield _tokens_of_fab(create_auth_manager()) if manager == FAB else _tokens_of_simple(create_auth_manager())
    finally:
        del os.environ[_SETTING]
        if before is not None:
            os.environ[_SETTING] = before


def _tokens_of_simple(manager) -> Tokens:
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    def token(role: str, teams: list[str]) -> str:
        known = {"teams": teams} if "teams" in signature(SimpleAuthManagerUser).parameters else {}  # not on Airflow 3.1
        return manager.generate_jwt(SimpleAuthManagerUser(username=f"{role}-of-{teams}", role=role, **known))

    return token


def _tokens_of_fab(manager) -> Tokens:
    """A team is a role with permissions on its DAG, as ``access_control`` of a DAG makes them; an admin has all DAGs.

    Whoever is of no team has no DAG at all; the rights on runs and task instances as such come with the role.
    An editor, whom Airflow's own roles do not have, may edit what there is and trigger nothing.
    """
    from airflow.providers.fab.auth_manager.models import Action, Permission, Resource, Role, User
    from airflow.providers.fab.auth_manager.models.db import FABDBManager
    from airflow.utils.session import create_session

    edits = ["can_read", "can_edit"]
    actions = {"viewer": ["can_read"], "editor": edits, "user": [*edits, "can_create"], "admin": [*edits, "can_create"]}
    dags = {"ours": f"DAG:{TEAM_DAG}", "theirs": f"DAG:{OPEN_DAG}"}

    def once(session, model, **named):
        found = session.query(model).filter_by(**named).one_or_none()
        if found is None:
            found = model(**named)
            session.add(found)
            session.flush()
        return found

    def token(role: str, teams: list[str]) -> str:
        name = f"{role}-of-{teams}"
        resources = ["Task Instances", "DAG Runs", *(["DAGs"] if role == "admin" else [dags[team] for team in teams])]
        with create_session() as session:
            user = session.query(User).filter_by(username=name).one_or_none()
            if user is None:
                granted = [
                    once(
                        session,
                        Permission,
                        action_id=once(session, Action, name=action).id,
                        resource_id=once(session, Resource, name=resource).id,
                    )
                    for action in actions[role]
                    for resource in resources
                ]
                made = Role(name=name, permissions=granted)
                person = {"first_name": role, "last_name": str(teams), "email": f"{name}@example.org"}
                user = User(username=name, active=True, roles=[made], **person)
                session.add(user)
                session.flush()
            return manager.generate_jwt(user)

    with create_session() as session:
        FABDBManager.metadata.create_all(session.get_bind())
    return token
