"""The images that docker-compose.yaml names; those that cannot be had are stood in for, ours is built as it says."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import yaml

from scripts.containers.podman import CHECKOUT, STAND_INS, run, say
from scripts.java_packages import download

PLACE: Final = CHECKOUT / ".work/compose"
FILE: Final = CHECKOUT / "docker-compose.yaml"
SERVICES: Final[dict[str, dict[str, Any]]] = yaml.safe_load(FILE.read_text())["services"]
SERVICE_OF: Final = {"postgres": "store", "airflow": "", "moto": "s3", "dynamodb": "dynamodb"}
"""Each stand-in, and a service whose image it takes the place of; ours is built upon the one that none names."""
DEBIAN: Final = "coordination-debian:12"
OURS: Final = "airflow-coordination:dev"
MAIN: Final = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"


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
