"""Download the jars that tests and the demo need and that nobody ships: DynamoDB Local, OpenSearch, Kafka, the
Kinesis Client Library, Spark's connectors to S3 and to Kafka, YARN; and the tables that `make bench` compares with.

usage: java_packages.py delta|dynamodb-local|hadoop-aws|iceberg|kafka|kcl|opensearch|postgres-jdbc|spark-kafka|yarn ...

They come from Maven Central by way of Ivy, which lies among PySpark's own jars. What is there already is not
downloaded again. Each set is described by a file of Ivy's in ``scripts/java`` and lies in ``.work/jars`` when it is
whole, never before. What arrives has the digests of ``scripts/java/sha256sums``, or is thrown away; with
``WRITE_DIGESTS=1`` those are written anew, to be looked at like any change.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parent.parent
JARS: Final = CHECKOUT / ".work/jars"
SETS: Final = CHECKOUT / "scripts/java"
DIGESTS: Final = SETS / "sha256sums"
_DESCRIPTION: Final = "ivy.xml"
_SECONDS: Final = 900
_WITH_THEIR_OWN: Final = ("delta", "hadoop-aws", "iceberg", "kafka", "kcl", "spark-kafka")
"""Sets whose descriptions leave it to Ivy what their jars need; the others name every jar."""
_KINDS: Final = ("jar", "bundle", "so", "dylib")


class PackagesError(Exception):
    """Jars are missing or cannot be downloaded; the message says which and what to do."""


def hadoop_version() -> str:
    """Return the version of the Hadoop inside the installed PySpark; the connector must have the same."""
    return _spark_jar("hadoop-client-api").stem.removeprefix("hadoop-client-api-")


def spark_version() -> str:
    """Return the version of the installed PySpark; its connectors must have the same."""
    return _spark_jar("spark-sql_2.13").stem.removeprefix("spark-sql_2.13-")


VERSIONS: Final[dict[str, Callable[[], str]]] = {
    "delta": lambda: "4.4.0",
    "dynamodb-local": lambda: "2.6.1",
    "hadoop-aws": hadoop_version,
    "iceberg": lambda: "1.12.0",
    "kafka": lambda: "4.1.0",
    "kcl": lambda: "3.5.1",
    "opensearch": lambda: "2.19.3",
    "postgres-jdbc": lambda: "42.7.4",
    "spark-kafka": spark_version,
    "yarn": hadoop_version,
}
"""How the version of each set is found."""


def jars(name: str) -> Path:
    """Return the directory with the jars of a set.

    :param name: one of ``VERSIONS``.
    :raises PackagesError: when they are not downloaded.
    """
    home = _home(name)
    if not _whole(name, home):
        raise PackagesError(f"{home} does not have the jars of {name}. Run: python scripts/java_packages.py {name}")
    return home


def download(name: str) -> Path:
    """Download the jars of a set unless they are there, and return their directory.

    :raises PackagesError: when there is no Java, no way to Maven Central, or a jar is not the one that was looked at.
    """
    home = _home(name)
    if _whole(name, home):
        return home
    print(f"Downloading the jars of {home.name} from Maven Central; this takes about half a minute", file=sys.stderr)
    JARS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="part-", dir=JARS) as scratch:
        fetched = Path(scratch, name)
        _resolve(name, fetched, Path(scratch))
        if os.environ.get("WRITE_DIGESTS"):
            write_digests(home.name, fetched)
        check_digests(home.name, fetched)
        shutil.copyfile(SETS / f"{name}.xml", fetched / _DESCRIPTION)
        shutil.rmtree(home, ignore_errors=True)
        fetched.rename(home)
    return home


def check_digests(name: str, directory: Path) -> None:
    """Compare what has arrived with what was written down of a set in its version.

    :raises PackagesError: naming each file that is another, is missing, or that nobody has looked at.
    """
    found, wanted = digests(directory), _written().get(name, {})
    wrong = sorted(file for file in found.keys() | wanted.keys() if found.get(file) != wanted.get(file))
    if wrong:
        remedy = f"If that is meant: WRITE_DIGESTS=1 python scripts/java_packages.py {name.rpartition('-')[0]}"
        raise PackagesError(f"{DIGESTS.name} does not say this of {name}: {', '.join(wrong)}. {remedy}")


def digests(directory: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a set, in hexadecimal digits."""
    files = [file for file in directory.iterdir() if file.name != _DESCRIPTION]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def write_digests(name: str, directory: Path) -> None:
    """Write down what a set has now, in the format of ``sha256sum``; earlier versions of it are forgotten."""
    others = {each: files for each, files in _written().items() if each.rpartition("-")[0] != name.rpartition("-")[0]}
    sets = sorted((others | {name: digests(directory)}).items())
    lines = [f"{digest}  {each}/{file}" for each, files in sets for file, digest in sorted(files.items())]
    DIGESTS.write_text("\n".join([*lines, ""]))


def _written() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for line in DIGESTS.read_text().splitlines():
        digest, _, path = line.partition("  ")
        name, _, file = path.partition("/")
        found.setdefault(name, {})[file] = digest
    return found


def _home(name: str) -> Path:
    return JARS / f"{name}-{VERSIONS[name]()}"


def _whole(name: str, home: Path) -> bool:
    """Say whether all jars of the set as it is described now are there: the description is the last to arrive."""
    description = home / _DESCRIPTION
    return description.is_file() and description.read_bytes() == (SETS / f"{name}.xml").read_bytes()


def _resolve(name: str, target: Path, scratch: Path) -> None:
    """Let Ivy fetch a set. It keeps to ``scratch``, so what the user has in ~/.m2 and ~/.ivy2 cannot disturb it."""
    target.mkdir()
    settings = () if name in _WITH_THEIR_OWN else ("-settings", str(SETS / "ivysettings.xml"))
    command = (
        _java(), f"-Divy.default.ivy.user.dir={scratch}", f"-Dversion={VERSIONS[name]()}",
        "-cp", f"{_spark_jar('ivy')}:{_spark_jar('commons-cli')}", "org.apache.ivy.Main", "-warn",
        *settings, "-ivy", str(SETS / f"{name}.xml"), "-cache", str(scratch / "cache"),
        "-types", *_KINDS, "-retrieve", f"{target}/[artifact]-[revision].[ext]",
    )  # fmt: skip
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise PackagesError(f"The jars of {name} did not arrive within {_SECONDS} seconds. Try again later.") from error
    if finished.returncode:
        said = "\n".join((finished.stdout + finished.stderr).strip().splitlines()[-15:])
        raise PackagesError(f"The jars of {name} cannot be downloaded. Is there a way to Maven Central?\n{said}")


def _spark_jar(name: str) -> Path:
    spark = importlib.util.find_spec("pyspark")
    found = sorted(Path(spark.origin).parent.glob(f"jars/{name}-[0-9]*.jar")) if spark and spark.origin else []
    if not found:
        raise PackagesError(f"PySpark's own jars have no {name}. Install the test requirements: make .venv/ready")
    return found[0]


def _java() -> str:
    found = subprocess.run((CHECKOUT / "scripts/java_home.sh",), capture_output=True, text=True, check=False)
    if found.returncode:
        raise PackagesError("Java 17 or 21 is needed and none was found. Run: scripts/system_packages.sh java")
    return f"{found.stdout.strip()}/bin/java"


def main(names: list[str]) -> None:
    """Download each set; end with 2 and the usage for an unknown name, with 1 when a download fails."""
    if not names or set(names) - set(VERSIONS):
        print(__doc__, file=sys.stderr)
        raise SystemExit(2)
    try:
        for name in names:
            download(name)
    except PackagesError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main(sys.argv[1:])
