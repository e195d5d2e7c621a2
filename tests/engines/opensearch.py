"""A node of OpenSearch for tests: the real one, in one Java process, on free ports of this host."""

from __future__ import annotations

import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from airflow_coordination.values.input_errors import SettingsError
from tests.engines.dynamodb_local import ENDS_WITH_ITS_PARENT, find_java

_NODE: Final = Path(__file__).with_name("OpenSearchNode.java")
_SMALL_AND_SOON: Final = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=ERROR")
_START_SECONDS: Final = 120


@contextmanager
def opensearch_node(jars: Path) -> Iterator[str]:
    """Run a new node until the block ends, and give its URL. It has no security and no scripts.

    :param jars: the directory with OpenSearch's jars.
    :raises SettingsError: when the jars or Java are missing.
    """
    if not list(jars.glob("opensearch-[0-9]*.jar")):
        remedy = "Download it first; in a checkout: python scripts/java_packages.py opensearch"
        raise SettingsError("jars", str(jars), "has no opensearch-*.jar", remedy)
    with tempfile.TemporaryDirectory(prefix="opensearch-") as home, tempfile.TemporaryFile() as log:
        command = (
            *ENDS_WITH_ITS_PARENT, find_java(), *_SMALL_AND_SOON, "-cp", f"{jars}/*", str(_NODE), home,
        )  # fmt: skip
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            url = _wait_until_it_answers(Path(home, "port"), process)
        except RuntimeError as error:
            log.seek(0)
            raise RuntimeError(f"{error}:\n{log.read()[-2000:].decode(errors='replace')}") from None
        else:
            yield url
        finally:
            process.kill()
            process.wait()


def _wait_until_it_answers(told: Path, process: subprocess.Popen[bytes]) -> str:
    """Return the node's URL; a node that has started writes down its port."""
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if told.exists():
            url = f"http://127.0.0.1:{told.read_text()}"
            with urllib.request.urlopen(f"{url}/_cluster/health?wait_for_status=yellow&timeout=30s", timeout=40):
                return url
        time.sleep(0.05)
    raise RuntimeError("OpenSearch did not start")
