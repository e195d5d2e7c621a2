"""Mutants of what is below the SQL store: connections, and who gets them next."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_DATABASE = "stores.sql.database"
_CONNECTIONS = "stores.sql.database"


def _database(test: str) -> Tested:
    return Tested(f"tests/unit/stores/test_database.py::test_{test}")


def _connections(test: str) -> Tested:
    return Tested(f"tests/unit/stores/test_connections.py::test_{test}")


MUTANTS = (
    Mutant(
        "connection that was interrupted goes on",
        _DATABASE,
        """        if not isinstance(error, database.driver_error):
            self._connections.drop(self._connected)
            return
""",
        """        if not isinstance(error, database.driver_error):
            self._connections.give_back(self._connected)
            return
""",
        "S2: the next call reads the answer that was meant for the one before",
        _database("whatever_else_happens_leaves_it_in_no_known_state[RuntimeError]"),
    ),
    Mutant(
        "lost connection alone",
        _DATABASE,
        """            self._connections.drop(self._connected)
            database.close()
""",
        """            self._connections.drop(self._connected)
""",
        "L6: after a restart of the server each idle connection fails a call of its own",
        _database("a_lost_connection_takes_the_idle_ones_with_it"),
    ),
    Mutant(
        "child with its parent's connections",
        _DATABASE,
        "return self._open() if connections is None or self._process != os.getpid() else connections",
        "return self._open() if connections is None else connections",
        "S2: parent and child read each other's answers",
        _database("a_forked_child_makes_its_own_and_closes_none_of_its_parent"),
    ),
    Mutant(
        "child that closes its parent's connections",
        _DATABASE,
        "        if self._process == os.getpid():\n            connections, self._connections",
        "        if True:\n            connections, self._connections",
        "L3: a child that ends cuts its parent's connections",
        _database("a_child_that_only_ends_closes_nothing"),
    ),
    Mutant(
        "connections without end",
        _CONNECTIONS,
        "            if self._in_use >= self._keep + BESIDE:\n                self._wait()\n",
        "",
        "a process takes all connections of the server",
        _connections("whoever_finds_none_free_waits_and_is_told"),
    ),
    Mutant(
        "connection that nobody is told of",
        _CONNECTIONS,
        """                self._in_use -= 1
                if self._waiting:
                    self._came_back.notify()
                return
""",
        """                self._in_use -= 1
                return
""",
        "L3: a call waits until its deadline though a connection is free",
        _connections("whoever_waits_gets_the_one_that_is_free_next[give_back]"),
    ),
    Mutant(
        "connection that goes back after the end",
        _CONNECTIONS,
        "if not self._closed and len(self._idle) < self._keep:",
        "if len(self._idle) < self._keep:",
        "a closed store keeps connections open",
        _connections("what_is_at_work_when_all_are_closed_is_closed_when_it_comes_back"),
    ),
)
