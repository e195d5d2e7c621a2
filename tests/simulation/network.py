"""Between a process and its store: every call becomes a message that takes time, and may meet a fault."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from airflow_coordination.testing.history.operations import NEVER
from airflow_coordination.values.input_errors import CoordinationError
from tests.simulation.faults import Fault, Weather
from tests.simulation.world import Killed, Process, World

T = TypeVar("T")
PATIENCE = 5.0
"""Seconds after which a caller gives up on one answer."""
OLDEST = 25.0
"""Seconds after which the store takes no message any more (its ``statement_timeout``)."""
_NOT_SENT = frozenset({Fault.UNREACHABLE, Fault.THROTTLED, Fault.CANNOT})


@dataclass(frozen=True, slots=True)
class Rules:
    """What a kind of message may meet.

    :param writes: whether it can be applied late or twice.
    :param once: the transport never repeats it (an acquisition by query on SQL).
    """

    writes: bool = True
    once: bool = False


class Unanswered(Exception):
    """No usable answer came.

    :param fault: why.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.value)
        self.fault = fault


def _fits(fault: Fault, rules: Rules) -> bool:
    if fault is Fault.TWICE:
        return rules.writes and not rules.once
    return rules.writes or fault not in (Fault.CANNOT, Fault.LATE)


class Network:
    """Carries all messages of a run.

    :param weather: what happens to them.
    """

    def __init__(self, world: World, source: random.Random, weather: Weather) -> None:
        self.world, self._random, self.weather = world, source, weather
        self.silent_until = 0.0
        self.heard_until = NEVER
        """When the first message met a fault."""
        self._age = 0
        """Grows when everything that is under way is dropped."""

    def send(self, process: Process, rules: Rules, call: Callable[[], T]) -> T:
        """Send a message and return its answer.

        :raises Unanswered: when none comes.
        """
        process.check()
        fault = self._fault(rules)
        if fault is None:
            return self._exchange(process, call)
        return self._meet(fault, process, call)

    def drop_all(self) -> None:
        """Drop what is under way, as time does to messages that are too old."""
        self._age += 1

    def _fault(self, rules: Rules) -> Fault | None:
        if self.silent_until > self.world.time:
            self.heard_until = min(self.heard_until, self.world.time)
            return self._random.choice((Fault.LOST, Fault.UNREACHABLE))  # one outage is one fault
        fault = self.weather.draw()
        if fault is None or not _fits(fault, rules):
            return None
        self.weather.count(fault)
        self.heard_until = min(self.heard_until, self.world.time)
        return fault

    def _meet(self, fault: Fault, process: Process, call: Callable[[], T]) -> T:
        if fault is Fault.KILLED_BEFORE:
            process.kill()
            raise Killed(process.name)
        if fault is Fault.STOPPED_BEFORE:
            process.stop(self._long())
            process.sleep(0.0)
            return self._exchange(process, call)
        if fault in _NOT_SENT:
            process.sleep(self._delay())
            raise Unanswered(fault)
        if fault is Fault.LOST:
            process.sleep(PATIENCE)
            raise Unanswered(fault)
        return self._meet_after(fault, process, call)

    def _meet_after(self, fault: Fault, process: Process, call: Callable[[], T]) -> T:
        if fault is Fault.LATE:
            self._deliver(self._random.uniform(0.01, OLDEST), call)
            process.sleep(self._random.uniform(0.01, PATIENCE))
            raise Unanswered(fault)
        if fault is Fault.ANSWER_LOST:
            self._deliver(self._delay(), call)
            process.sleep(PATIENCE if self._random.random() < 0.5 else 0.1)
            raise Unanswered(fault)
        if fault is Fault.KILLED_AFTER:
            self._deliver(self._delay(), call)
            process.kill()
            raise Killed(process.name)
        if fault is Fault.TWICE:
            self._deliver(self._random.uniform(0.01, OLDEST), call)
        if fault is Fault.STOPPED_AFTER:
            process.stop(self._long())
        return self._exchange(process, call)

    def _deliver(self, seconds: float, call: Callable[[], object]) -> None:
        """Let the store have a message whose answer nobody hears."""
        age = self._age

        def arrive() -> None:
            if age == self._age:
                with suppress(CoordinationError, BotoCoreError, ClientError):  # a refusal that nobody hears
                    call()

        self.world.after(seconds, arrive)

    def _exchange(self, process: Process, call: Callable[[], T]) -> T:
        answer: list[Any] = []
        there, back = self._delay(), self._delay()

        def start(wake: Callable[[], None]) -> None:
            def arrive() -> None:
                try:
                    answer.append((True, call()))
                except Exception as error:
                    answer.append((False, error))
                self.world.after(back, wake)

            self.world.after(there, arrive)

        process.wait_for(start)
        heard, found = answer[0]
        if not heard:
            raise found
        result: T = found
        return result

    def _delay(self) -> float:
        return self._random.random() * 0.02

    def _long(self) -> float:
        return self._random.uniform(1.0, 150.0)
