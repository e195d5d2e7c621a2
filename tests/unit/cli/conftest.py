"""A store with a source, and the command line to try on it."""

import pytest

from airflow_coordination.cli.standalone import main
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store

HOSTILE = "a\x1b[31m\u202eb\ttab"


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'c.db'}"


@pytest.fixture
def flights(url):
    store = open_store(url)
    store.setup()
    coordinator = SourceCoordinator(store, "flights", "test", max_failures=1)
    coordinator.supplying.register()
    coordinator.create_partitions(["2013-01", "2013-02", HOSTILE])
    yield coordinator
    store.close()


@pytest.fixture
def cli(url, capsys):
    """Run a command line; return exit code, standard output and standard error."""

    def run(*argv):
        code = main([*argv, "--store", url])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run
