"""The Spark provider's private names that we lean on: each is there, and does what we take it to do."""

import ast
import inspect
import json

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import BaseHook
from airflow.sdk import BaseOperator

from airflow_coordination.leases import SettingsError
from airflow_coordination.submission.spark_provider import UNNAMED, ProviderHook, ProviderOperator
from tests.house.tree import PACKAGE

METHODS = {
    "_build_spark_common_args": ["self"],
    "_get_spark_binary_path": ["self"],
    "_poll_k8s_driver_via_api": ["self"],
    "_process_spark_submit_log": ["self", "itr"],
    "_resolve_connection": ["self"],
    "_should_track_driver_via_k8s_api": ["self"],
    "_should_track_yarn_application_via_rm_api": ["self"],
    "_validate_track_driver_via_k8s_api_config": ["self"],
    "_validate_yarn_track_via_rm_api_config": ["self"],
}
ATTRIBUTES = {
    "_conf": {"spark.a": "1"},
    "_conn_id": "client",
    "_driver_id": None,
    "_env": None,
    "_is_kubernetes": False,
    "_is_yarn": False,
    "_kubernetes_driver_pod": None,
    "_name": UNNAMED,
    "_py_files": "a.py",
    "_should_track_driver_status": False,
    "_spark_exit_code": None,
    "_submit_sp": None,
    "_track_driver_via_k8s_api": False,
    "_yarn_application_id": None,
}
"""What a new hook has."""
OF_CONNECTION = ("deploy_mode", "master", "namespace")
"""What is read of the hook's ``_connection``."""
OF_OPERATOR = {"_K8S_DRIVER_STATUS_KEY", "_hook"}
OURS_TOO = {"_hook"}
"""What classes of our own call something of theirs."""
CLUSTER = {"deploy-mode": "cluster"}


@pytest.fixture(autouse=True)
def connections(monkeypatch):
    """A Spark on this host, and one in each cluster mode; Kubernetes is never asked."""
    monkeypatch.setattr("airflow.providers.apache.spark.hooks.spark_submit.kube_client", object(), raising=False)
    for name, host, extra in (
        ("CLIENT", "local[1]", {}),
        ("YARN", "yarn", CLUSTER),
        ("PODS", "k8s://https://cluster", {**CLUSTER, "namespace": "jobs"}),
        ("PODS_CLIENT", "k8s://https://cluster", {}),
        ("STANDALONE", "spark://cluster:7077", CLUSTER),
    ):
        said = {"conn_type": "spark", "host": host, "extra": extra}
        monkeypatch.setenv(f"AIRFLOW_CONN_{name}", json.dumps(said))


@pytest.fixture
def submit(tmp_path, monkeypatch):
    """Submit with a spark-submit that is the given shell script; return the hook."""

    def submit(script, **arguments):
        program = tmp_path / "spark-submit"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        hook = ProviderHook(**{"conn_id": "client"} | arguments)
        hook.submit("job.py")
        return hook

    return submit


def operator(**arguments):
    given = {"conn_id": "client", "conf": {"spark.a": "1"}, "py_files": "a.py"}
    return ProviderOperator(task_id="spark", application="job.py", **given | arguments)


def private_names_of_the_provider():
    """Return all there are, used or not, but those of Airflow's own bases."""
    plain = SparkSubmitOperator(task_id="spark", application="job.py", conn_id="client")
    names = {*dir(plain), *dir(SparkSubmitHook(conn_id="client"))}
    bases = {*dir(BaseHook), *dir(BaseOperator(task_id="base"))}
    return {name for name in names - bases if name.startswith("_") and not name.startswith("__")}


def named(module):
    """Yield the attributes that a module reads or writes, and the functions it defines."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.FunctionDef):
            yield node.name


def test_only_the_adapter_knows_private_names_of_the_provider_and_all_are_listed_here():
    theirs = private_names_of_the_provider()
    rooms = ("decorators", "hooks", "links", "operators", "sensors", "submission", "triggers")
    modules = {module for room in rooms for module in (PACKAGE / room).glob("*.py")}
    adapter = PACKAGE / "submission/spark_provider.py"
    assert theirs & set(named(adapter)) == {*METHODS, *ATTRIBUTES, "_connection", *OF_OPERATOR}
    others = {str(module): theirs & set(named(module)) - OURS_TOO for module in modules - {adapter}}
    assert {module: names for module, names in others.items() if names} == {}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_takes_what_it_is_given(name):
    assert list(inspect.signature(getattr(SparkSubmitHook, name)).parameters) == METHODS[name]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_new_hook_has_the_attribute(name):
    assert getattr(operator()._get_hook(), name) == ATTRIBUTES[name]


@pytest.mark.parametrize("name", OF_CONNECTION)
def test_the_connection_of_a_hook_says(name):
    assert name in SparkSubmitHook(conn_id="client")._connection


def test_the_hook_has_every_argument_of_the_operator():
    given = operator(num_executors=3, name="mine", driver_memory="2g", env_vars={"A": "b"}, verbose=True)
    mine, theirs = vars(ProviderHook(**given.hook_arguments())), vars(given._get_hook())
    assert {name: mine[name] for name in theirs if name != "_log"} == {
        name: value for name, value in theirs.items() if name != "_log"
    }


def test_the_operator_submits_and_asks_with_the_hook_that_it_is_given():
    class Told(ProviderHook):
        told = ()

        def submit(self, application="", **kwargs):
            self.told = (*self.told, application)

    given = operator()
    hook = Told(**given.hook_arguments())
    given.submit_with(hook)
    given.execute({})
    assert hook.told == ("job.py",)
    assert given._backend.hook is hook


def test_a_driver_is_kept_under_these_keys():
    """A retry, also one of a later version, looks for it there."""
    assert ProviderOperator.driver_keys == ("spark_job_id", "k8s_driver_status")


def test_a_connection_that_is_not_defined_is_no_yarn_cluster():
    with pytest.raises(SettingsError, match="'nowhere': is not a defined Airflow connection"):
        ProviderHook(conn_id="nowhere")
    assert SparkSubmitHook(conn_id="nowhere")._connection["master"] == "yarn"  # theirs goes on


def test_what_is_set_becomes_arguments_of_spark_submit(submit):
    hook = submit("true", conf={"spark.a": "1"}, py_files="a.py")
    hook.set_conf("spark.b", "2")
    hook.add_py_file("b.zip")
    assert hook.application_name == "default-name"
    hook.application_name = "flights a"
    command = " ".join(hook._build_spark_submit_command("job.py"))
    for part in ("--conf spark.a=1", "--conf spark.b=2", "--py-files a.py,b.zip", "--name flights a"):
        assert part in command
    assert command.startswith(f"{hook.binary} --master {hook.master} ")


def test_an_operator_without_a_name_names_no_application():
    assert ProviderHook(**operator().hook_arguments()).application_name is None
    assert ProviderHook(**operator(name="mine").hook_arguments()).application_name == "mine"


def test_configuration_and_environment_are_added_at_each_submission(submit):
    class More(ProviderHook):
        def submitted_conf(self):
            return {**self.spark_conf, "spark.late": "x"}

        def submitted_environment(self):
            return {"LATE": "y"}

    hook = More(conn_id="client", env_vars={"OWN": "z"})
    for _ in range(2):
        assert "spark.late=x" in hook._build_spark_submit_command("job.py")
        assert hook._env == {"OWN": "z", "LATE": "y"}


@pytest.mark.parametrize(
    ("conn_id", "line", "found"),
    [
        ("yarn", "Submitted application application_1700000000000_0001", "application_1700000000000_0001"),
        ("pods", "INFO pod name: flights-0a1b2c-driver", "jobs:flights-0a1b2c-driver"),
        ("standalone", "Driver successfully submitted as driver-20240101000000-0000", "driver-20240101000000-0000"),
    ],
)
def test_a_driver_elsewhere_is_known_by_what_spark_submit_prints(submit, conn_id, line, found):
    hook = submit(f"echo '{line}'; echo 'exit code: 0'", conn_id=conn_id)
    assert hook.remote_id == found
    later = ProviderHook(conn_id=conn_id)
    assert later.remote_id is None
    later.remote_id = found
    assert later.remote_id == found
    later.remote_id = None
    assert later.remote_id is None


def test_lines_that_are_taken_out_are_not_read_by_the_provider(submit, monkeypatch):
    monkeypatch.setattr(
        ProviderHook, "read_output", lambda self, lines: (line for line in lines if "driver" not in line)
    )
    with pytest.raises(Exception, match="No driver id is known"):
        submit("echo driver-20240101000000-0000", conn_id="standalone")


def test_a_quiet_driver_beside_kubernetes_ends_well(submit):
    """The provider takes an exit code that no line said for a failure."""
    assert submit("true", conn_id="pods_client").was_interrupted is False


def test_a_spark_submit_that_was_killed_says_nothing_of_its_driver(submit, monkeypatch):
    hooks = []
    keep = ProviderHook.read_output
    monkeypatch.setattr(ProviderHook, "read_output", lambda self, lines: hooks.append(self) or keep(self, lines))
    with pytest.raises(Exception, match="Error code is: -15"):
        submit("kill -TERM $$")
    assert hooks[0].was_interrupted
    with pytest.raises(Exception, match="Error code is: 1"):
        submit("exit 1")
    assert not hooks[1].was_interrupted


@pytest.mark.parametrize(
    ("conn_id", "arguments", "polled"),
    [
        ("client", {}, False),
        ("yarn", {}, False),
        ("yarn", {"yarn_track_via_rm_api": True}, True),
        ("pods", {}, False),
        ("pods", {"track_driver_via_k8s_api": True}, True),
        ("standalone", {}, True),
    ],
)
def test_which_ends_are_polled(conn_id, arguments, polled):
    assert ProviderHook(conn_id=conn_id, **arguments).polled is polled


def test_polls_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="requires Spark master to be Kubernetes"):
        ProviderHook(conn_id="client", track_driver_via_k8s_api=True).check_polling()
    with pytest.raises(ValueError, match="requires Spark master to be YARN"):
        ProviderHook(conn_id="client", yarn_track_via_rm_api=True).check_polling()
    ProviderHook(conn_id="pods", track_driver_via_k8s_api=True).check_polling()


def test_a_pod_that_vanished_is_no_success(monkeypatch):
    monkeypatch.setattr(SparkSubmitHook, "_poll_k8s_driver_via_api", lambda self: None)
    hook = ProviderHook(conn_id="pods")
    hook.remote_id = "jobs:flights-driver"
    with pytest.raises(RuntimeError, match="flights-driver has vanished: nobody knows how it ended"):
        hook._poll_k8s_driver_via_api()
