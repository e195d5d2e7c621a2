"""Which way a store's address and credentials take to a Spark driver: a matrix of deploy mode and store (X4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Driver(StrEnum):
    """Where a driver runs."""

    HERE = "on the worker"
    YARN = "on YARN"
    KUBERNETES = "on Kubernetes"
    STANDALONE = "on a standalone cluster"


class Opens(StrEnum):
    """What opens a store."""

    MEMORY = "`in_memory`"
    FILE = "SQLite"
    SQL = "PostgreSQL, no password"
    SQL_PASSWORD = "PostgreSQL, password"
    ROLE = "DynamoDB, the driver's own identity or a role it assumes"
    EXTERNAL_ID = "DynamoDB, a role with an external id"
    KEYS = "keys or a profile of `aws_conn_id`"


class Way(StrEnum):
    """How they get there. A configuration is in Spark's arguments, for everyone on its hosts to read."""

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


_F, _C, _S, _N, _R = Way.FILE, Way.CONFIGURATION, Way.SECRET, Way.NONE, Way.REFUSED


def _row(*ways: Way) -> Mapping[Opens, Way]:
    return dict(zip(Opens, ways, strict=True))


MATRIX: Final[Mapping[Driver, Mapping[Opens, Way]]] = {
    #                        in_memory, SQLite, PostgreSQL: open, password, DynamoDB: role, external id, keys
    Driver.HERE: _row(_R, _F, _F, _F, _F, _F, _F),
    Driver.YARN: _row(_R, _R, _C, _R, _C, _R, _R),
    Driver.KUBERNETES: _row(_R, _R, _C, _S, _C, _S, _R),
    Driver.STANDALONE: _row(_R, _N, _N, _N, _N, _N, _N),
}

MODES: Final = (
    Mode("local[*]", "client", Driver.HERE, "`spark-submit`", ran=True),
    Mode("spark://", "client", Driver.HERE, "`spark-submit`", ran=True),
    Mode("yarn", "client", Driver.HERE, "`spark-submit`"),
    Mode("k8s://", "client", Driver.HERE, "`spark-submit`"),
    Mode("yarn", "cluster", Driver.YARN, "ResourceManager, or `spark-submit`"),
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
    (Driver.KUBERNETES, Opens.SQL_PASSWORD): _NAMED_SECRET,
    (Driver.KUBERNETES, Opens.EXTERNAL_ID): _NAMED_SECRET,
    (Driver.KUBERNETES, Opens.KEYS): f"{_IDENTITY}, and leave keys and profile out of the aws connection; {_CLIENT}",
}
"""What to do instead, for the combinations that are refused, or that need a secret reference."""


def way_of(driver: Driver, opens: Opens, *, foreign: bool = False, secret: bool = False) -> Way:
    """Return the way that a store's address and credentials take.

    :param driver: where the driver runs.
    :param opens: what opens the store.
    :param foreign: the job is no Python program, so it knows nothing of leases: it gets no store.
    :param secret: a secret reference is named; Kubernetes only.
    """
    way = MATRIX[driver][opens]
    if opens is Opens.MEMORY:
        return way
    if foreign:
        return Way.NONE
    if driver is Driver.HERE:
        return way
    if driver is not Driver.KUBERNETES or way is Way.REFUSED:
        return way
    if secret:
        return Way.SECRET
    return Way.REFUSED if way is Way.SECRET else way
