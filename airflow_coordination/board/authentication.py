"""Who asks: Airflow's own user, for every route.

A mounted application is open unless it says otherwise. Of Airflow's dependencies only those work in it that do not read
the state of the application they run in: this one does, ``ReadableDagsFilterDep`` and ``AuthManagerDep`` do not.
"""

from __future__ import annotations

from typing import Final

from airflow.api_fastapi.core_api.security import GetUserDep, get_user
from fastapi import Depends

__all__ = ["AUTHENTICATED", "User"]

User = GetUserDep
"""A route's argument of this type is the user of the request's token: its bearer header, otherwise its cookie."""
AUTHENTICATED: Final = Depends(get_user)
"""Given to the whole application: without a token every route answers 401, with one that is not Airflow's 403."""
