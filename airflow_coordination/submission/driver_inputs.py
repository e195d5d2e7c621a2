"""The inputs of a driver: all that opens its store and lets it go on with the tenure, and their route."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Never

from airflow_coordination.hooks.amazon import for_driver_elsewhere
from airflow_coordination.hooks.connection import StoreConnection, dynamodb_options, store_text
from airflow_coordination.hooks.single_machine import is_single_machine, single_machine_refusal
from airflow_coordination.leases.handover import HANDOVER_VARIABLE, STORE_VARIABLE, Envelope, HandOver, as_word
from airflow_coordination.stores.addresses import has_secret, secrets_of
from airflow_coordination.submission.credential_routes import REMEDIES, Driver, Opens, Route, route_of
from airflow_coordination.values.input_errors import SettingsError

_VARIABLES: Final = {Driver.YARN: "spark.yarn.appMasterEnv.", Driver.KUBERNETES: "spark.kubernetes.driverEnv."}
_SECRET_VARIABLE: Final = "spark.kubernetes.driver.secretKeyRef."


@dataclass(frozen=True, slots=True)
class DriverInputs:
    """All that goes to one driver.

    :param driver: where it runs.
    :param environment: for the environment of spark-submit: what the driver's JVM may see, such as keys for its S3.
    :param configuration: for Spark's configuration, which everybody can read: holds no secret.
    :param foreign: the job knows nothing of leases, so neither store nor tenure is sent elsewhere.
    :param envelope: for a driver on this host that knows of leases: goes by a file that is read once.
    """

    driver: Driver
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    configuration: Mapping[str, str] = field(default_factory=dict)
    foreign: bool = False
    envelope: Envelope | None = field(default=None, repr=False)

    def __reduce__(self) -> Never:
        raise TypeError("A DriverInputs value holds secrets and is not pickled")

    def with_tenure(self, tenure: HandOver) -> DriverInputs:
        """Return it with the tenure, by which the processes of spark-submit are found again, too."""
        text = tenure.to_json()
        marked = replace(self, environment={**self.environment, HANDOVER_VARIABLE: text})
        if self.driver is Driver.WORKER or self.foreign:
            return marked
        sent = {_VARIABLES[self.driver] + HANDOVER_VARIABLE: as_word(text)}
        return replace(marked, configuration={**self.configuration, **sent})


def inputs_for(connection: StoreConnection, driver: Driver, *, foreign: bool = False) -> DriverInputs:
    """Return how ``connection``'s store reaches a driver, which is decided before anything is acquired (promise X4).

    :param foreign: the job is no Python program, so it knows nothing of leases: it gets no store.
    :raises SettingsError: when it cannot, saying what to do instead; when the AWS connection makes no sense.
    :raises StoreUnavailableError: when the service that gives a role's credentials does not answer.
    """
    opens = what_opens(connection)
    route = route_of(driver, opens, foreign=foreign, secret=connection.driver_secret is not None)
    if route is Route.REFUSED:
        raise _refusal(connection, driver, opens)
    if driver is Driver.WORKER:
        environment = connection.driver_environment()
        store = environment.pop(STORE_VARIABLE)
        known = tuple(secrets_of(_parsed(store)))
        envelope = None if foreign else Envelope(store, secrets.token_hex(16), known)
        return DriverInputs(driver, environment, foreign=foreign, envelope=envelope)
    if route is Route.NONE:
        return DriverInputs(driver, foreign=True)
    variables, store = _in_the_open(connection)
    prefix = _VARIABLES[driver]
    sent = {prefix + name: text for name, text in variables.items()}
    if route is Route.SECRET:
        return DriverInputs(driver, {}, {**sent, _SECRET_VARIABLE + STORE_VARIABLE: str(connection.driver_secret)})
    return DriverInputs(driver, {}, {**sent, prefix + STORE_VARIABLE: as_word(store)})


def _parsed(store: str) -> object:
    """Return a store's text as an object, if it is one, so that its secrets are found."""
    return json.loads(store) if store.startswith("{") else store


def what_opens(connection: StoreConnection) -> Opens:
    """Return the kind of the store and of what opens it.

    An AWS connection beside a store in SQL is for the driver's S3; its keys count like those of a store.
    """
    store = connection.store
    if store.kind == "in_memory":
        return Opens.MEMORY
    if is_single_machine(store):
        return Opens.FILE
    options = dynamodb_options(store)
    if connection.amazon is not None:
        told = for_driver_elsewhere(connection.amazon, options)
        if told is None:
            return Opens.KEYS
        options = told[1]
    if options is not None:
        return Opens.EXTERNAL_ID if options.sts_external_id else Opens.ROLE
    if store.kind == "sql":
        return Opens.SQL_PASSWORD if has_secret(store.url) else Opens.SQL
    secret = has_secret(store.url) or any(secrets_of(dict(store.options)))
    return Opens.ELSEWHERE_SECRET if secret else Opens.ELSEWHERE


def _in_the_open(connection: StoreConnection) -> tuple[dict[str, str], str]:
    """Return the variables and the text of the store for a driver elsewhere."""
    options = dynamodb_options(connection.store)
    told = for_driver_elsewhere(connection.amazon, options) if connection.amazon is not None else None
    variables, options = told or ({}, options)
    return variables, options.url if options else store_text(connection.store)


def _refusal(connection: StoreConnection, driver: Driver, opens: Opens) -> SettingsError:
    if opens is Opens.MEMORY:
        remedy = "Use sqlite:///…, postgresql+psycopg://… or dynamodb://…"
        problem = "lives in one process, so the Spark driver cannot see it"
        return SettingsError("store", connection.store.url, problem, remedy)
    if opens is Opens.FILE:
        return single_machine_refusal(driver)
    problem = (
        f"starts the driver {driver}, where what opens the store ({opens.replace('`', '')}) could only go as an "
        "argument, for everyone on the host to read"
    )
    return SettingsError("deploy_mode", "cluster", problem, REMEDIES[driver, opens])
