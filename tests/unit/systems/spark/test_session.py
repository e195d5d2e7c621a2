"""Whether this installation of pyspark can work at all: what is on disk decides, not what versions say."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_coordination.leases import Partition, SettingsError, SourceCoordinator
from airflow_coordination.spark import build_archive
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.systems.spark.session import beyond_locale, check_output_root, note_on_locale

Check = Callable[..., str]
CHECK = """
from airflow_coordination.leases import SettingsError
from airflow_coordination.systems.spark.session import check_distributions
try:
    check_distributions()
    print("whole")
except SettingsError as error:
    print(error)
"""
ZIP = "pyspark/python/lib/pyspark.zip"


def install(place: Path, name: str, version: str) -> None:
    """Unpack a distribution over what is there, as pip does, and leave its record."""
    files = {"pyspark/__init__.py": "", "pyspark/version.py": f"__version__ = {version!r}\n", "pyspark/same.py": ""}
    if name == "pyspark":
        (place / ZIP).parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(place / ZIP, "w") as archive:
            for file, text in files.items():
                archive.writestr(file, text)
    info = place / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for file, text in files.items():
        (place / file).parent.mkdir(exist_ok=True)
        (place / file).write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        lines.append(f"{file},sha256={digest},{len(text)}")
    (info / "RECORD").write_text("\n".join([*lines, f"{info.name}/RECORD,,", ""]))


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Check:
    """Say what the check says where there is nothing but these folders and our code."""
    ours = build_archive(tmp_path_factory.mktemp("ours"))

    def check(*path: Path) -> str:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [*path, ours]))}
        command = [sys.executable, "-S", "-c", CHECK]
        ran = subprocess.run(command, env=environment, cwd=ours.parent, capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    return check


def test_i1_a_client_installed_last_is_refused_with_a_remedy_that_there_is(tmp_path: Path, checked: Check) -> None:
    """I1: the remedy was an equal client, which most versions of pyspark do not have."""
    install(tmp_path, "pyspark", "4.3.0")
    install(tmp_path, "pyspark-client", "4.2.0")
    assert checked(tmp_path) == (
        "pyspark='4.3.0': shares its folder with pyspark-client 4.2.0, which has overwritten 1 of its files, "
        "pyspark/version.py for one. "
        "Install pyspark last: pip install --force-reinstall --no-deps pyspark==4.3.0"
    )


@pytest.mark.parametrize("client", ["4.2.0", "4.3.0", None])
def test_i1_pyspark_installed_last_works_beside_any_client(tmp_path: Path, checked: Check, client: str | None) -> None:
    """I1: versions were compared, so that the newest patch of no line could be used."""
    if client:
        install(tmp_path, "pyspark-client", client)
    install(tmp_path, "pyspark", "4.3.0")
    assert checked(tmp_path) == "whole"


def test_i1_a_driver_of_spark_submit_takes_sparks_own_archive(tmp_path: Path, checked: Check) -> None:
    """I1: ``spark-submit`` puts ``pyspark.zip`` first, and no client touches that."""
    install(tmp_path, "pyspark", "4.3.0")
    install(tmp_path, "pyspark-client", "4.2.0")
    assert checked(tmp_path / ZIP, tmp_path) == "whole"


def test_i1_a_file_that_somebody_patched_is_nobodys_mixture(tmp_path: Path, checked: Check) -> None:
    install(tmp_path, "pyspark", "4.3.0")
    install(tmp_path, "pyspark-client", "4.2.0")
    (tmp_path / "pyspark/version.py").write_text("__version__ = 'patched here'\n")
    assert checked(tmp_path) == "whole"


def test_i1_a_client_that_was_removed_took_the_files_with_it(tmp_path: Path, checked: Check) -> None:
    install(tmp_path, "pyspark", "4.2.0")
    for file in (tmp_path / "pyspark").glob("*.py"):
        file.unlink()
    assert checked(tmp_path) == (
        "pyspark='4.2.0': is installed, and its files are gone: pyspark-client, which shares its folder, was removed. "
        "Install pyspark last: pip install --force-reinstall --no-deps pyspark==4.2.0"
    )


class Jvm:
    """What pyspark has of a JVM that was started with this encoding of names."""

    def __init__(self, encoding: str) -> None:
        self._sc = self._jvm = self.java = self.lang = self.System = self
        self.getProperty = {"sun.jnu.encoding": encoding}.get


@pytest.mark.parametrize(
    ("encoding", "name", "lacks"),
    [
        ("ANSI_X3.4-1968", "Köln", True),
        ("ANSI_X3.4-1968", "Koeln", False),
        ("ISO-8859-1", "Köln", False),
        ("ISO-8859-1", "Łódź", True),
        ("UTF-8", "Łódź", False),
        ("x-unheard-of", "Łódź", False),
    ],
)
def test_e10_what_a_locale_cannot_name_is_said(encoding: str, name: str, lacks: bool) -> None:
    """E10: Python lists names in UTF-8 that Java cannot open, and the message did not say why."""
    said = beyond_locale(Jvm(encoding), f"/data/{name}")
    assert (f"the locale it was started with has {encoding}" in said) is lacks
    assert note_on_locale(Jvm(encoding), partition_of(name)).startswith("\n… its key") is lacks
    if lacks and encoding == "ANSI_X3.4-1968":
        with pytest.raises(SettingsError, match=r"output_root=.* has letters that Spark's JVM cannot name: .*LC_ALL=C"):
            check_output_root(Jvm(encoding), str(Path("/tmp") / name))


def partition_of(key: str) -> Partition:
    """Return a partition with this key."""
    coordinator = SourceCoordinator(InMemoryStore(), source="s", owner="o")
    coordinator.create_partitions([key])
    return coordinator.partition(key)
