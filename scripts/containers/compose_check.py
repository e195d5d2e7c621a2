"""Run docker-compose.yaml whole by podman, and see the example DAG completed, the board, and the data after a restart.

usage: python -m scripts.containers.compose_check

The file itself is taken as it is. Images that it names and that cannot be had here are replaced by stand-ins of
``docker/stand-ins``: the same programs out of Debian's and Python's packages. Wants root, a network of podman's, the
file's ports free, and 6 GB of disk. What is left of it afterwards are the images, which
``podman rmi`` removes.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from graphlib import TopologicalSorter
from typing import Any, Final

from scripts.containers.images import FILE, PLACE, SERVICES, make_images
from scripts.containers.podman import CheckError, ask, run, say, wait_for
from scripts.containers.podman import logs as logs_of

PROJECT: Final = "coordination-check"
AIRFLOW: Final = "http://127.0.0.1:8080"


def compose(*arguments: object) -> str:
    """Call podman-compose with the file."""
    return run(PLACE / "venv/bin/podman-compose", "--project-name", PROJECT, "--file", FILE, *arguments)


def up() -> None:
    """Start every service once what it waits for is as the file says: Debian's podman does not wait by itself."""
    compose("up", "--no-start", "--no-build", "--no-deps")  # started in order here
    waits = {name: service.get("depends_on", {}) for name, service in SERVICES.items()}
    for name in TopologicalSorter(waits).static_order():
        for other in waits[name]:
            _wait_until_ready(other)
        run("podman", "start", container(name))
    for name in SERVICES:
        say(_wait_until_ready(name))


def _wait_until_ready(name: str) -> str:
    """Wait until a service is healthy, or has done what it is for; return that in words."""
    ready, words = (is_healthy, "is healthy") if "healthcheck" in SERVICES[name] else (_has_ended, "has ended well")
    wait_for(lambda: ready(name), f"{name} {words}", lambda: logs(name))
    return f"{name} {words}"


def _has_ended(name: str) -> bool:
    status, code = run(
        "podman", "inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}", container(name)
    ).split()
    if status == "exited" and code != "0":
        raise CheckError(f"{name} ended with {code}:\n{logs(name)}")
    return status == "exited"


def is_healthy(name: str) -> bool:
    """Run a service's own health check, which elsewhere a timer of systemd does."""
    return ask("podman", "healthcheck", "run", container(name)).returncode == 0


def container(name: str) -> str:
    """Return the name of a service's container."""
    return f"{PROJECT}_{name}_1"


def logs(name: str) -> str:
    """Return the end of what a service has said."""
    return logs_of(container(name))


def call(method: str, path: str, body: Any = None, token: str = "") -> Any:
    """Ask Airflow."""
    request = urllib.request.Request(AIRFLOW + path, method=method)
    request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(request, data, timeout=60) as answer:
        return json.load(answer)


def board() -> dict[str, int]:
    """Return how many partitions of the source of flights are in each state, once the board has counted them."""

    def numbers() -> Any:
        stores = call("GET", "/coordination/api/v1/sources", token=log_in())["stores"]
        return next(each["numbers"] for store in stores for each in store["sources"] if each["name"] == "flights")

    counts = wait_for(numbers, "the board has counted", lambda: logs("api-server"))["counts"]
    return {state: count for state, count in counts.items() if count}


def run_the_dag() -> str:
    """Let the scheduler run the example DAG once; return its state at the end."""
    token = log_in()
    call("PATCH", "/api/v2/dags/flights", {"is_paused": False}, token)
    call("POST", "/api/v2/dags/flights/dagRuns", {"dag_run_id": "check", "logical_date": None}, token)

    def state() -> str:
        found = str(call("GET", "/api/v2/dags/flights/dagRuns/check", token=log_in())["state"])
        return found if found in ("success", "failed") else ""

    return str(wait_for(state, "the DAG run is over", lambda: logs("scheduler")))


def log_in() -> str:
    """Return a token: everybody is an administrator there."""
    return str(call("GET", "/auth/token")["access_token"])


def knows_the_dag() -> bool:
    """Return whether the DAG was read."""
    try:
        call("GET", "/api/v2/dags/flights", token=log_in())
    except urllib.error.HTTPError:
        return False
    return True


def main() -> None:
    """Do it all.

    :raises CheckError: saying what is not as the file says.
    """
    make_images()
    compose("down", "--volumes")
    try:
        up()
        wait_for(knows_the_dag, "the DAG is known", lambda: logs("dag-processor"))
        say("the DAG is known")
        if (state := run_the_dag()) != "success":
            raise CheckError(f"the DAG run is {state}:\n{logs('scheduler')}")
        before = board()
        say(f"the board says {before}")
        if set(before) != {"COMPLETED"}:
            raise CheckError(f"not everything is completed: {before}")
        compose("down")
        say("down, and up again")
        up()
        after = board()
        state = call("GET", "/api/v2/dags/flights/dagRuns/check", token=log_in())["state"]
        say(f"the board says {after}, the DAG run is still there: {state}")
        if (after, state) != (before, "success"):
            raise CheckError(f"it was {before} before")
    finally:
        compose("down", "--volumes")
    print("docker-compose.yaml: 1 passed, 0 failed")


if __name__ == "__main__":
    try:
        main()
    except CheckError as error:
        sys.exit(str(error))
