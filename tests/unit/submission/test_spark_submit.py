"""What spark-submit prints, and what of it is a report."""

from airflow_coordination.submission.spark_submit import LeasedSparkSubmitHook


def test_b3_only_lines_with_this_submissions_word_are_reports(monkeypatch):
    """B3: what was the whole marker before is output like any other."""
    from airflow_coordination.leases.handover import Envelope
    from airflow_coordination.submission.credential_routes import Driver
    from airflow_coordination.submission.driver_inputs import DriverInputs

    monkeypatch.setenv("AIRFLOW_CONN_LOCAL", '{"conn_type": "spark", "host": "local[1]"}')
    hook, told = LeasedSparkSubmitHook(conn_id="local"), []
    hook.hand_over(DriverInputs(Driver.WORKER, envelope=Envelope("store", "w0rd")), told.append)
    lines = ["[coordination] {}", "[coordination other] {}", "[coordination w0rd] {1}", "half [coordination w0rd] {2}"]
    assert list(hook.read_output(iter(lines))) == ["[coordination] {}", "[coordination other] {}", "half "]
    assert told == ["{1}", "{2}"]
    hook.hand_over(DriverInputs(Driver.WORKER), told.append)
    assert list(hook.read_output(iter(lines))) == lines
