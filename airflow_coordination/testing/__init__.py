"""For tests of coordinated work: ours and yours.

* :class:`~airflow_coordination.testing.clock.FakeClock`: virtual time,
* :class:`~airflow_coordination.testing.crash.FaultyStore`: crashes and lost answers at any call to a store,
* :class:`~airflow_coordination.testing.forwarding.ForwardingStore`: the base of stores that wrap another one,
* :class:`~airflow_coordination.testing.conformance.StoreConformance`: what every store must do (needs pytest),
* :mod:`~airflow_coordination.testing.history`: records calls, and checks whether the promises were kept.

Import them from their own modules, so that each asks only for what it needs.
"""
