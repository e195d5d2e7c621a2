"""A store and a Java for the Airflow side."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def store():
    """An in-memory store of this test's own."""
    from airflow_coordination.stores import open_store

    return open_store("memory://")


@pytest.fixture
def java(tmp_path, monkeypatch):
    """A Java that says its version, first on the PATH."""

    def install(version="17.0.9"):
        program = tmp_path / "jre/bin/java"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n")
        program.chmod(0o755)
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", str(program.parent) + os.pathsep + os.environ["PATH"])
        return program

    install()
    return install
