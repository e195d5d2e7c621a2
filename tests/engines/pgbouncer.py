"""A private PgBouncer before a PostgreSQL server, for tests."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
from sqlalchemy.engine import make_url

from airflow_coordination.values.input_errors import SettingsError
from tests.engines.ports import free_port
from tests.engines.postgres import ordinary_user

_PLACES: Final = "/usr/sbin:/usr/bin:/usr/local/bin"
_START_SECONDS: Final = 30.0


@contextmanager
def pgbouncer(url: str, pool_mode: str) -> Iterator[str]:
    """Run a pooler before the server at ``url``, and give the same database's URL through it.

    :param pool_mode: ``session``, ``transaction`` or ``statement``.
    :raises SettingsError: when PgBouncer is not installed.
    """
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path=_PLACES)
    if program is None:
        raise SettingsError("pgbouncer", None, "is not installed", "Run: sudo apt-get install pgbouncer")
    server = make_url(url)
    home, port = Path(tempfile.mkdtemp(prefix="coordination-pgb-")), free_port()
    user = ordinary_user()
    (home / "users").write_text(f'"{server.username}" ""\n')
    (home / "ini").write_text(f"""[databases]
* = host={server.host} port={server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {home}/users
pool_mode = {pool_mode}
ignore_startup_parameters = extra_float_digits, options
""")
    home.chmod(0o755)
    with (home / "log").open("wb") as log:
        process = subprocess.Popen([program, str(home / "ini")], user=user, stdout=log, stderr=log)
    try:
        behind = server.set(port=port)
        _wait(behind.set(drivername="postgresql").render_as_string(hide_password=False), process, home / "log")
        yield behind.render_as_string(hide_password=False)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(home, ignore_errors=True)


def _wait(plain_url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            psycopg.connect(plain_url).close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PgBouncer does not answer:\n{log.read_text()}") from None
            time.sleep(0.05)
