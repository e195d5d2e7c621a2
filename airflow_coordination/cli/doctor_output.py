"""The check of the output root for ``doctor``: this host must be able to write there."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from airflow_coordination.stores.diagnostics import Finding, Verdict
from airflow_coordination.systems.objects.errors import OutputError
from airflow_coordination.systems.objects.storage import delete, join, normal_root, write_bytes


def look_at_output_root(root: str) -> Iterator[Finding]:
    """Write one small file and remove it again, as a driver on this host would."""
    address = join(normal_root(root), f".doctor-{secrets.token_hex(8)}")
    try:
        write_bytes(address, b"")
        delete(address)
    except OutputError as error:
        remedy = "Give this user the right to write there, or set another output_root"
        yield Finding("output root", Verdict.WRONG, f"{root} cannot be written: {error}", remedy)
        return
    yield Finding("output root", Verdict.OK, f"{root} can be written from here")
