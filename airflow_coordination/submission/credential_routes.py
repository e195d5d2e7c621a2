"""The route of a store's address and credentials to a Spark driver: a matrix of deploy mode and store (X4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Driver(StrEnum):
    """The place of a driver."""

    WORKER = "on the worker"
    YARN = "on YARN"
    KUBERNETES = "on Kubernetes"
    STANDALONE = "on a standalone cluster"


class Opens(StrEnum):
    """The kind of a store, and of the credentials that open it."""

    MEMORY = "`in_memory`"
    FILE = "SQLite"
    SQL = "PostgreSQL, no password"
    SQL_PASSWORD = "PostgreSQL, password"
    ROLE = "DynamoDB, the driver's own identity or a role it assumes"
    EXTERNAL_ID = "DynamoDB, a role with an external id"
    KEYS = "keys or a profile of `aws_conn_id`"
    ELSEWHERE = "a store from elsewhere, no secret"
    ELSEWHERE_SECRET = "a store from elsewhere, secret"


class Route(StrEnum):
    """The way of both to a driver. A configuration is in Spark's arguments, for everyone on its hosts to read."""

    FILE = "file"
    CONFIGURATION = "configuration"
    SECRET = "secret reference"
    NONE = "not needed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to submit.

    :param master: Spark's master.
    :param deploy_mode: ``client`` or ``cluster``.
    :param driver: where that starts the driver.
    :param watched: how the task learns of the application's end.
    :param ran: whether this package's tests run it on a real Spark.
    """

    master: str
    deploy_mode: str
    driver: Driver
    watched: str
    ran: bool = False


_F, _C, _S, _N, _R = Route.FILE, Route.CONFIGURATION, Route.SECRET, Route.NONE, Route.REFUSED


def _row(*routes: Route) -> Mapping[Opens, Route]:
    return dict(zip(Opens, routes, strict=True))


MATRIX: Final[Mapping[Driver, Mapping[Opens, Route]]] = {
    #          in_memory, SQLite, PostgreSQL: open, password, DynamoDB: role, external id, keys, elsewhere: open, secret
    Driver.WORKER: _row(_R, _F, _F, _F, _F, _F, _F, _F, _F),
    Driver.YARN: _row(_R, _R, _C, _R, _C, _R, _R, _C, _R),
    Driver.KUBERNETES: _row(_R, _R, _C, _S, _C, _S, _R, _C, _S),
    Driver.STANDALONE: _row(_R, _N, _N, _N, _N, _N, _N, _N, _N),
}

MODES: Final = (
    Mode("local[*]", "client", Driver.WORKER, "`spark-submit`", ran=True),
    Mode("spark://", "client", Driver.WORKER, "`spark-submit`", ran=True),
    Mode("yarn", "client", Driver.WORKER, "`spark-submit`", ran=True),
    Mode("k8s://", "client", Driver.WORKER, "`spark-submit`"),
    Mode("yarn", "cluster", Driver.YARN, "ResourceManager, or `spark-submit`", ran=True),
    Mode("k8s://", "cluster", Driver.KUBERNETES, "Kubernetes API, or `spark-submit`"),
    Mode("spark://", "cluster", Driver.STANDALONE, "the master's REST API", ran=True),
)

_IDENTITY: Final = "Give the driver an identity of its own (an instance profile, or a role of its service account)"
_CLIENT: Final = "or use deploy_mode='client'"
_NAMED_SECRET: Final = (
    "Put the store, whole, into a secret of the driver's namespace, and name it in the coordination connection's extra "
    f"driver_secret as NAME:KEY; {_CLIENT}"
)
REMEDIES: Final[Mapping[tuple[Driver, Opens], str]] = {
    (Driver.YARN, Opens.SQL_PASSWORD): (
        "Leave the password out, and let a password file (PGPASSFILE) or a certificate on the cluster's hosts open "
        f"the database; {_CLIENT}"
    ),
    (Driver.YARN, Opens.EXTERNAL_ID): f"{_IDENTITY}, or a role without an external id; {_CLIENT}",
    (Driver.YARN, Opens.KEYS): f"{_IDENTITY}, and leave keys and profile out of the aws connection; {_CLIENT}",
    (Driver.YARN, Opens.ELSEWHERE_SECRET): (
        "Leave the secret out of what names the store, and let something on the cluster's hosts open it; " + _CLIENT
    ),
    (Driver.KUBERNETES, Opens.SQL_PASSWORD): _NAMED_SECRET,
    (Driver.KUBERNETES, Opens.ELSEWHERE_SECRET): _NAMED_SECRET,
    (Driver.KUBERNETES, Opens.EXTERNAL_ID): _NAMED_SECRET,
    (Driver.KUBERNETES, Opens.KEYS): f"{_IDENTITY}, and leave keys and profile out of the aws connection; {_CLIENT}",
}
"""The remedy for each combination that is refused, or that needs a secret reference."""


def route_of(driver: Driver, opens: Opens, *, foreign: bool = False, secret: bool = False) -> Route:
    """Return the route that a store's address and credentials take.

    :param driver: where the driver runs.
    :param opens: what opens the store.
    :param foreign: the job is no Python program, so it knows nothing of leases: it gets no store.
    :param secret: a secret reference is named; Kubernetes only.
    """
    route = MATRIX[driver][opens]
    if opens is Opens.MEMORY:
        return route
    if foreign:
        return Route.NONE
    if driver is Driver.WORKER:
        return route
    if driver is not Driver.KUBERNETES or route is Route.REFUSED:
        return route
    if secret:
        return Route.SECRET
    return Route.REFUSED if route is Route.SECRET else route
