"""A store that another package brings: found by its scheme, and refused in plain words when it cannot be opened."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from airflow_coordination.cli.standalone import main
from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.leases.handover import HANDOVER_VARIABLE
from airflow_coordination.spark import build_archive
from airflow_coordination.stores import StoreConfig, open_store, parse_config
from airflow_coordination.stores.opening import OPENERS
from airflow_coordination.stores.registry import GROUP
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.times import SystemClock
from tests.docs.pages import ROOT
from tests.integration.stores.elsewhere import Package, build_package


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return build_package(tmp_path_factory.mktemp("elsewhere"))


@pytest.fixture
def installed(package: Package, monkeypatch: pytest.MonkeyPatch) -> Package:
    monkeypatch.syspath_prepend(package.site)
    return package


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"mystore://{tmp_path}/s.db"


@pytest.mark.usefixtures("installed")
def test_it_is_opened_by_its_url_and_works(url: str) -> None:
    store = open_store(url)
    store.setup()
    assert store.description == url
    coordinator = SourceCoordinator(store, source="s", owner="o")
    coordinator.create_partitions(["k"])
    coordinator.complete(coordinator.get_next_partition())
    again = SourceCoordinator(open_store(str(store.reference)), source="s", owner="o")
    assert again.counts()[PartitionStatus.COMPLETED] == 1


@pytest.mark.usefixtures("installed")
def test_it_is_opened_from_data_preppers_object_with_prefix_and_options(url: str) -> None:
    block = {"partition_prefix": "team", "store": {"mystore": {"url": url, "retries": 3, "tls": True}}}
    config = parse_config(block)
    assert config == StoreConfig("mystore", url, (("retries", 3), ("tls", True)), "team")
    assert open_store(config).partition_prefix == "team"


def test_an_opener_gets_configuration_and_clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = install(monkeypatch, tmp_path, "def open_it(*given):\n    seen.append(given)\n    return Store()\n")
    clock = SystemClock()
    store = open_store("Plain+TLS://here", clock=clock)
    assert given.seen == [(StoreConfig("plain", "Plain+TLS://here"), clock)]
    assert store.partition_prefix is None


@pytest.mark.usefixtures("installed")
def test_the_command_line_opens_it(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "migrate", "--store", url]) == 0
    SourceCoordinator(open_store(url), source="s", owner="o").create_partitions(["k"])
    assert main(["list", "s", "--store", url, "--output", "plain"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1].startswith("k\tUNASSIGNED")
    assert f"at {url} is up to date" in printed.err


def test_our_own_are_declared_as_others_declare_theirs() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert declared[GROUP] == {name: f"{each.__module__}:{each.__name__}" for name, each in OPENERS.items()}


def test_the_metadata_of_other_packages_is_not_read_for_our_own(tmp_path: Path) -> None:
    """A driver has this package without metadata, and importing it must stay cheap."""
    code = (
        "import sys\n"
        "from airflow_coordination.stores import open_store\n"
        f"open_store('memory://'), open_store('sqlite:///{tmp_path}/s.db')\n"
        "open_store({'store': {'in_memory': None}})\n"
        "import importlib.metadata as metadata\n"
        "metadata.entry_points = None\n"
        "open_store('memory://')\n"
        "try:\n    open_store('mystore://')\n"
        "except TypeError:\n    print('asked')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("asked\n", 0), done.stderr


def test_it_is_found_in_a_zip_beside_our_own_without_any_installation(package: Package, tmp_path: Path) -> None:
    """As in a driver whose image has neither: both come by ``--py-files``."""
    code = (
        "import sys\n"
        "sys.path[:0] = sys.argv[1:]\n"
        "from airflow_coordination.stores import parse_config\n"
        "from airflow_coordination.stores.registry import registered_opener\n"
        "url = 'mystore:///s.db'\n"
        "print(parse_config(url).kind, registered_opener(url).__name__)\n"
    )
    zips = [str(build_archive(tmp_path)), str(package.wheel)]
    command = [sys.executable, "-S", "-E", "-c", code, *zips]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("mystore open_my_store\n", 0), done.stderr


class Installed:
    """A module that registers the scheme ``plain``, without a build: only the metadata matters here."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def seen(self) -> list[object]:
        return sys.modules[self.name].seen


def install(
    monkeypatch: pytest.MonkeyPatch, directory: Path, code: str, module: str = "plain_store", *, package: str = "plain"
) -> Installed:
    """Install a package with this code in a directory of its own."""
    site = directory / package
    metadata = site / f"{package}-2.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 2.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\nplain = {module}:open_it\n")
    (site / f"{module}.py").write_text(f"seen = []\n\n\nclass Store:\n    acquire_next = None\n\n\n{code}")
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, module, raising=False)
    return Installed(module)


def refusal(where: object) -> str:
    with pytest.raises(SettingsError) as refused:
        open_store(where)
    return str(refused.value)


def test_one_that_is_not_installed_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = (
        "store='mystore://me@h/d': is not the URL of a store: no package that is installed here registers 'mystore'"
    )
    assert refusal("mystore://me:s3cret@h/d") == (
        f"{nowhere} in airflow_coordination.stores. Use sqlite:////path.db, postgresql+psycopg://user@host/database, "
        "dynamodb://TABLE?region=…, memory:// or a source_coordination object, or install the store's package"
    )
    monkeypatch.setenv(HANDOVER_VARIABLE, "{}")
    assert refusal("mystore://me:s3cret@h/d") == (
        f"{nowhere} in airflow_coordination.stores. Install the store's package where this Spark driver runs, or send "
        "it along with py_files, as a zip that holds its .dist-info"
    )


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("store", "message"),
    [
        ({"mystor": {}}, "source_coordination.store.mystor='mystor': is not an option here. Did you mean 'mystore'?"),
        (
            {"mystore": {"url": "sqlite:////s.db"}},
            "source_coordination.store.mystore.url='sqlite:////s.db': is not a URL of mystore. Write mystore://…",
        ),
        ({"mystore": {"url": 7}}, "source_coordination.store.mystore.url='int': is missing or no text"),
        (
            {"mystore": {"hosts": ["a", "b"]}},
            "source_coordination.store.mystore.hosts='list': is no plain value. Give a text, a number, true or false",
        ),
        ({"mystore": None}, "store='': is no absolute path. Write mystore:///path/of/a/file"),
    ],
)
def test_a_mistake_in_its_object_is_named(store: object, message: str) -> None:
    assert refusal({"store": store}).startswith(message)


def test_one_that_cannot_be_imported_is_named_with_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, tmp_path, "import no_such_client\n")
    assert refusal("plain://here") == (
        "store='plain://here': is opened by plain_store:open_it of plain 2.0, which cannot be imported here "
        "(ModuleNotFoundError: No module named 'no_such_client'). Install what it imports where this runs, or mend the "
        "package's entry point"
    )


def test_a_scheme_that_two_packages_register_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, tmp_path, "", "one", package="first")
    install(monkeypatch, tmp_path, "", "two", package="second")
    assert refusal("plain://here") == (
        "store='plain://here': has a scheme that several packages register: second 2.0, first 2.0. Uninstall all of "
        "them but one"
    )


def test_an_opener_that_returns_no_store_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, tmp_path, "def open_it(*given):\n    pass\n")
    assert refusal("plain://here") == (
        "store='plain://here': was opened as NoneType, which is no store. Let the opener that its package registers "
        "return a PartitionStore"
    )
