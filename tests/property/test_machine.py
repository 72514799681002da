"""The same player as in the simulation, but Hypothesis chooses the moves and shrinks what fails.

The invariants have names: no cross-scope leak on any channel; forget is final; history replays to
the present; a batch is whole; the past stays as it was.
"""

import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.simulation.model import Person
from tests.simulation.playing import PEOPLE, WRITES, Player

people = st.sampled_from(PEOPLE)
chances = st.integers(0, 2**16)


class Machine(RuleBasedStateMachine):
    """A store in dictionaries; the simulation does the same on files that fail."""

    @initialize(seed=chances)
    def begin(self, seed: int) -> None:
        self.player = Player(seed)

    @rule(write=st.sampled_from(WRITES), chance=chances)
    def write(self, write: str, chance: int) -> None:
        self.player.rng = random.Random(chance)
        self.player.play(write)

    @rule()
    def look_back_later(self) -> None:
        self.player.play("look_back_later")

    @invariant()
    def no_cross_scope_leak_on_any_channel(self) -> None:
        self._hold("recall_stays_in_its_scope")

    @invariant()
    def forget_is_final(self) -> None:
        self._hold("forget_is_final")

    @invariant()
    def history_replays_to_the_present(self) -> None:
        self._hold("history_replays_to_the_present")

    @invariant()
    def the_past_stays_as_it_was(self) -> None:
        self._hold("the_past_stays_as_it_was")

    @invariant()
    def a_batch_is_atomic(self) -> None:
        """Whatever was written in one call is there as a whole, and nothing else is."""
        self._hold("nothing_differs")

    def _hold(self, name: str) -> None:
        for who in PEOPLE:
            if self.player.people[who] != Person():
                getattr(self.player, name)(who)

    def teardown(self) -> None:
        if hasattr(self, "player"):
            self.player.close()


TestMachine = pytest.mark.slow(Machine.TestCase)
TestMachine.settings = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
