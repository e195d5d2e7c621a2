"""Drain one source by two drivers on a Spark of three hosts, take one host away in the middle, and count the rows.

usage: python -m scripts.containers.three_hosts

Each host is a container with a Spark worker, in a network of their own; the first has Spark's master, the other two a
driver each. What they publish lies on a volume that all of them have, as on a file server. When both drivers are in the
middle of a partition and tasks of both run on the third host, that host is cut off from the network. Its processes live
on, and still reach the volume: it is the hardest way to be gone. Once the others have completed everything the host
comes back under its old address, and its driver may do what it likes. Wants what `make compose-check` wants.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from scripts.containers.images import OURS, SERVICES, make_images
from scripts.containers.podman import CHECKOUT, CheckError, ask, logs, run, say, wait_for

NETWORK: Final = "coordination-hosts"
HOSTS: Final = ("host-1", "host-2", "host-3")
LOST: Final = HOSTS[2]
STORE: Final = "coordination-hosts-store"
URL: Final = "postgresql+psycopg://coordination:coordination@store:5432/coordination"
MASTER: Final = "SPARK_MASTER_OPTS=-Dspark.worker.timeout=20 exec spark-class org.apache.spark.deploy.master.Master"
WORKER: Final = "exec spark-class org.apache.spark.deploy.worker.Worker --cores 2 --memory 2g spark://host-1:7077"
JOB: Final = "python /job/drain_on_hosts.py"
FIRST_HELD_BACK: Final = "p04"
"""Its tasks, and those of all later ones, wait until the host is gone."""
ROWS: Final = list(range(12 * 40))
"""What drain_on_hosts.py makes: twelve partitions of forty rows."""


def container(host: str) -> str:
    """Return the name of a host's container."""
    return f"coordination-{host}"


def execute(host: str, command: str) -> str:
    """Run a command on a host to its end, and return what it prints."""
    return run("podman", "exec", container(host), "bash", "-c", command)


def begin(host: str, name: str, command: str) -> None:
    """Start a program on a host; what it says, and in the end its exit code, lie there in files of its name."""
    run(
        "podman",
        "exec",
        "--detach",
        container(host),
        "bash",
        "-c",
        f"({command}) >/tmp/{name} 2>&1; echo $? >/tmp/{name}.code",
    )


def said(host: str, name: str) -> str:
    """Return the end of what a program on a host has said."""
    return f"{host}, {name}:\n" + ask("podman", "exec", container(host), "tail", "-c", "4000", f"/tmp/{name}").stdout


def has_ended(host: str, name: str) -> str:
    """Return the exit code of a program on a host, empty while it runs."""
    return ask("podman", "exec", container(host), "cat", f"/tmp/{name}.code").stdout.strip()


def start() -> None:
    """Start the store and the hosts, and Spark on them."""
    run("podman", "network", "create", NETWORK)
    here = ("podman", "run", "--detach", "--network", NETWORK)
    known = [f"--env={name}={value}" for name, value in SERVICES["store"]["environment"].items()]
    names = ("--name", STORE, "--network-alias", "store", "--volume", "/var/lib/postgresql/data")
    run(*here, *names, *known, SERVICES["store"]["image"])
    wait_for(
        lambda: ask("podman", "exec", STORE, "pg_isready", "--host", "store").returncode == 0,
        "the store answers",
        lambda: logs(STORE),
    )
    for host in HOSTS:
        job = f"{CHECKOUT / 'scripts/containers'}:/job:ro"
        given = ("--env", f"HOSTS_STORE={URL}", "--volume", f"{NETWORK}:/data", "--volume", job)
        names = ("--name", container(host), "--hostname", host, "--network-alias", host)
        run(*here, *names, *given, "--entrypoint", "/usr/bin/dumb-init", OURS, "sleep", "infinity")
    begin(HOSTS[0], "master", f"{MASTER} --host host-1 --port 7077 --webui-port 8080")
    for host in HOSTS:
        begin(host, "worker", f"{WORKER} --host {host}")
    wait_for(lambda: alive_workers() == len(HOSTS), "three workers", lambda: said(HOSTS[0], "master"))


def alive_workers() -> int:
    """Return how many workers Spark's master takes for alive."""
    answer = ask("podman", "exec", container(HOSTS[0]), "curl", "--silent", "http://localhost:8080/json/").stdout
    return sum(worker["state"] == "ALIVE" for worker in json.loads(answer)["workers"]) if answer else 0


def look() -> dict[str, Any]:
    """Return how everything stands, as the first host sees it."""
    return dict(json.loads(execute(HOSTS[0], f"{JOB} look")))


def are_in_the_middle() -> dict[str, Any] | None:
    """Return how everything stands, once both drivers hold a partition of which a task runs on the third host."""
    for host in HOSTS[1:]:
        if code := has_ended(host, "drain"):
            raise CheckError(f"the drain has ended with {code} before anything happened: {said(host, 'drain')}")
    stands = look()
    held = {key: owner_of(each["owner"]) for key, each in stands["partitions"].items() if each["status"] == "ASSIGNED"}
    at_work = {key for key, host in stands["tasks"] if host == LOST and key >= FIRST_HELD_BACK}
    return stands if sorted(held.values()) == list(HOSTS[1:]) and held.keys() <= at_work else None


def owner_of(owner: str) -> str:
    """Return the host that an owner names first."""
    return owner.partition(";")[0].partition("/")[0]


def cut_off() -> str:
    """Cut the third host off from the others; return its address."""
    address = run(
        "podman",
        "inspect",
        "--format",
        f'{{{{(index .NetworkSettings.Networks "{NETWORK}").IPAddress}}}}',
        container(LOST),
    )
    run("podman", "network", "disconnect", NETWORK, container(LOST))
    return address


def come_back(address: str) -> None:
    """Connect the third host again, under the address that it had."""
    run("podman", "network", "connect", "--ip", address, "--alias", LOST, NETWORK, container(LOST))


def check() -> None:
    """Do it all.

    :raises CheckError: when a row is missing or doubled, or anything else is not as it should be.
    """
    start()
    say("three hosts, and a store")
    execute(HOSTS[0], f"{JOB} create")
    for host in HOSTS[1:]:
        begin(host, "drain", f"{JOB} drain")
    drains = lambda: "\n".join(said(host, "drain") for host in HOSTS[1:])  # noqa: E731
    stands = wait_for(are_in_the_middle, "two drains in the middle", drains)
    held = {key: owner_of(each["owner"]) for key, each in stands["partitions"].items() if each["owner"]}
    say(f"in the middle: {completed(stands)} completed, held {held}")
    address = cut_off()
    say(f"{LOST} is cut off")
    execute(HOSTS[0], "touch /data/go")
    stands = wait_for(lambda: (now := look()) and completed(now) == 12 and now, "all completed", drains)
    see_rows(stands, "the others have completed everything")
    [orphan] = [key for key, host in held.items() if host == LOST]
    say(f"{orphan}, which {LOST} held: {stands['partitions'][orphan]['ended']}")
    if owner_of(stands["partitions"][orphan]["ended"][-1][1]) != HOSTS[1]:
        raise CheckError(f"{HOSTS[1]} has not completed {orphan}: {stands['partitions'][orphan]}")
    come_back(address)
    say(f"{LOST} is back")
    code = wait_for(lambda: has_ended(LOST, "drain"), "the late driver has ended", drains)
    say(f"the late driver has ended with {code}")
    see_rows(look(), "after the late driver")


def completed(stands: dict[str, Any]) -> int:
    """Return how many partitions are completed."""
    return sum(each["status"] == "COMPLETED" for each in stands["partitions"].values())


def see_rows(stands: dict[str, Any], when: str) -> None:
    """Say how many rows readers see.

    :raises CheckError: when they are not each row once.
    """
    if stands["rows"] != ROWS:
        raise CheckError(
            f"{when}: {len(stands['rows'])} rows for {len(ROWS)}, {len(set(stands['rows']))} different ones"
        )
    lost = sum(host == LOST for _, host in stands["tasks"])
    say(f"{when}: {len(ROWS)} rows, each once; tasks begun: {len(stands['tasks'])}, of them on {LOST}: {lost}")


def clean() -> None:
    """Remove containers, network and volume."""
    ask("podman", "rm", "--force", "--volumes", "--time", "0", "--ignore", STORE, *map(container, HOSTS))
    ask("podman", "network", "rm", "--force", NETWORK)
    ask("podman", "volume", "rm", "--force", NETWORK)


def main() -> None:
    """Do it, and leave nothing but the images.

    :raises CheckError: saying what is not as it should be.
    """
    make_images()
    clean()
    try:
        check()
    finally:
        clean()
    print("three hosts, one of them lost: 1 passed, 0 failed")


if __name__ == "__main__":
    try:
        main()
    except CheckError as error:
        sys.exit(str(error))
