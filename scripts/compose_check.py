"""Run docker-compose.yaml whole by podman, and see the example DAG completed, the board, and the data after a restart.

usage: compose_check.py

The file itself is taken as it is. Images that it names and that cannot be had here are replaced by stand-ins of
``docker/stand-ins``: the same programs out of Debian's and Python's packages. Wants root, a network of podman's, the
file's ports free, and 6 GB of disk. What is left of it afterwards are the images; ``podman rmi`` removes them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import yaml

CHECKOUT: Final = Path(__file__).resolve().parent.parent
PLACE: Final = CHECKOUT / ".work/compose"
STAND_INS: Final = CHECKOUT / "docker/stand-ins"
FILE: Final = CHECKOUT / "docker-compose.yaml"
SERVICES: Final[dict[str, dict[str, Any]]] = yaml.safe_load(FILE.read_text())["services"]
SERVICE_OF: Final = {"postgres": "store", "airflow": "", "moto": "s3", "dynamodb": "dynamodb"}
"""Each stand-in, and a service whose image it takes the place of; ours is built upon the one that none names."""
DEBIAN: Final = "coordination-debian:12"
OURS: Final = "airflow-coordination:dev"
PROJECT: Final = "coordination-check"
AIRFLOW: Final = "http://127.0.0.1:8080"
SECONDS: Final = 1200.0
MAIN: Final = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
ENVIRONMENT: Final = {
    **os.environ,
    "CONTAINERS_CONF": str(STAND_INS / "containers.conf"),
    "BUILDAH_ISOLATION": "chroot",
}


class CheckError(Exception):
    """The file does not do what it says; the message says what was waited for, and how it was."""


def run(*command: object, quiet: bool = False) -> str:
    """Run a command and return what it says.

    :raises CheckError: with the end of what it said, when it fails.
    """
    said = subprocess.run(
        [str(part) for part in command], cwd=CHECKOUT, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    if said.returncode and not quiet:
        raise CheckError(f"{' '.join(map(str, command))} failed:\n{(said.stdout + said.stderr)[-4000:]}")
    return said.stdout.strip()


def compose(*arguments: object) -> str:
    """Call podman-compose with the file."""
    return run(PLACE / "venv/bin/podman-compose", "--project-name", PROJECT, "--file", FILE, *arguments)


def wait_for(condition: Callable[[], Any], what: str, seen: Callable[[], str] = str) -> Any:
    """Return what ``condition`` returns once it is true.

    :raises CheckError: after 20 minutes, with what is ``seen`` then.
    """
    deadline = time.monotonic() + SECONDS
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise CheckError(f"{what}: not within {SECONDS:.0f} s\n{seen()}")
        time.sleep(1)
    say(what)
    return found


def say(what: str) -> None:
    """Print a line with the time."""
    print(time.strftime("%H:%M:%S"), what, flush=True)


def make_images() -> None:
    """Build what is missing: a Debian, the stand-ins upon it, then the file's own image by its own Dockerfile."""
    if not _has(DEBIAN):
        _make_debian()
    for target, service in SERVICE_OF.items():
        image = SERVICES[service]["image"] if service else _base()
        if not _has(image):
            _build(image, STAND_INS / "Containerfile", STAND_INS, "--target", target, *_arguments(image, target))
    _build(OURS, CHECKOUT / "docker/Dockerfile", CHECKOUT)
    _build(OURS, STAND_INS / "Containerfile", STAND_INS, "--target", "drivers")
    size = int(run("podman", "image", "inspect", "--format", "{{.Size}}", OURS)) / 1e9
    base = int(run("podman", "image", "inspect", "--format", "{{.Size}}", _base())) / 1e9
    java = run("podman", "run", "--rm", "--entrypoint", "sh", OURS, "-c", "java -version 2>&1 | head -n 1")
    say(f"{OURS} has {size:.1f} GB, of which {base:.1f} are the base's; {java}")


def _base() -> str:
    return next(line.split()[1] for line in (CHECKOUT / "docker/Dockerfile").read_text().splitlines() if "FROM" in line)


def _arguments(image: str, target: str) -> Iterable[str]:
    if target == "moto":
        return ("--build-arg", f"VERSION={image.rpartition(':')[2]}")
    return ("--build-context", f"jars={_jars()}") if target == "dynamodb" else ()


def _jars() -> Path:
    """Return DynamoDB Local's jars, beside one of the name that the vendor's image starts."""
    sys.path.insert(0, str(CHECKOUT))
    from scripts.java_packages import download

    place = PLACE / "jars"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(download("dynamodb-local"), place)
    classes = "".join(f" {jar.name}\n " for jar in sorted(place.glob("*.jar")))
    manifest = f"Manifest-Version: 1.0\nMain-Class: {MAIN}\nClass-Path:{classes.rstrip()}\n\n"
    with zipfile.ZipFile(place / "DynamoDBLocal.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", manifest)
    return place


def _has(image: str) -> bool:
    return bool(run("podman", "images", "--quiet", image))


def _build(image: str, file: Path, context: Path, *arguments: str) -> None:
    say(f"building {image}")
    run("podman", "build", "--network=host", "--tag", image, "--file", file, *arguments, context)


def _make_debian() -> None:
    say(f"making {DEBIAN}")
    root = PLACE / "root"
    shutil.rmtree(root, ignore_errors=True)
    packages = "ca-certificates,curl,dumb-init,python3-pip,python3-venv"
    run("debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", root)
    # Where a machine has authorities of its own, its registries are trusted by them.
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", root / "etc/ssl/certs/ca-certificates.crt")
    archive = PLACE / "debian.tar"
    run("tar", "-C", root, "-cf", archive, ".")
    run("podman", "import", archive, DEBIAN)
    archive.unlink()
    shutil.rmtree(root)


def up() -> None:
    """Start every service once what it waits for is as the file says: Debian's podman does not wait by itself."""
    compose("up", "--no-start", "--no-build", "--no-deps")  # started in order here
    started: set[str] = set()
    while started != set(SERVICES):
        ready = [name for name in SERVICES if name not in started and _may_start(name, started)]
        for name in ready:
            run("podman", "start", container(name))
            started.add(name)
        time.sleep(1)
    for name, service in SERVICES.items():
        if "healthcheck" in service:
            wait_for(lambda name=name: is_healthy(name), f"{name} is healthy", lambda name=name: logs(name))


def _may_start(name: str, started: set[str]) -> bool:
    waits = SERVICES[name].get("depends_on", {})
    if not set(waits) <= started:
        return False
    for other, wait in waits.items():
        if wait["condition"] == "service_healthy":
            wait_for(lambda other=other: is_healthy(other), f"{other} is healthy", lambda other=other: logs(other))
        else:
            wait_for(lambda other=other: _has_ended(other), f"{other} has ended well", lambda other=other: logs(other))
    return True


def _has_ended(name: str) -> bool:
    status, code = run(
        "podman", "inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}", container(name)
    ).split()
    if status == "exited" and code != "0":
        raise CheckError(f"{name} ended with {code}:\n{logs(name)}")
    return status == "exited"


def is_healthy(name: str) -> bool:
    """Run a service's own health check, which elsewhere a timer of systemd does."""
    asked = subprocess.run(
        ["podman", "healthcheck", "run", container(name)], env=ENVIRONMENT, capture_output=True, check=False
    )
    return asked.returncode == 0


def container(name: str) -> str:
    """Return the name of a service's container."""
    return f"{PROJECT}_{name}_1"


def logs(name: str) -> str:
    """Return the end of what a service has said."""
    command = ["podman", "logs", "--tail", "60", container(name)]
    said = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    return (said.stdout + said.stderr)[-6000:]


def call(method: str, path: str, body: Any = None, token: str = "") -> Any:
    """Ask Airflow."""
    request = urllib.request.Request(AIRFLOW + path, method=method)
    request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(request, data, timeout=60) as answer:
        return json.load(answer)


def board(token: str) -> dict[str, int]:
    """Return how many partitions of the source of flights are in each state, as the board tells."""
    stores = call("GET", "/coordination/api/v1/sources", token=token)["stores"]
    [numbers] = [each["numbers"] for store in stores for each in store["sources"] if each["name"] == "flights"]
    return {state: count for state, count in numbers["counts"].items() if count}


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
        if (state := run_the_dag()) != "success":
            raise CheckError(f"the DAG run is {state}:\n{logs('scheduler')}")
        before = board(log_in())
        say(f"the board says {before}")
        if set(before) != {"COMPLETED"}:
            raise CheckError(f"not everything is completed: {before}")
        compose("down")
        say("down, and up again")
        up()
        after = board(log_in())
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
