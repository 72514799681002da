"""Model clients, agents, what calls of models took, and what they may take."""

from dataclasses import replace
from typing import Any

import pytest

from recollect.domain.clients import AgentRecord, ModelClient, agent_of, client_of
from recollect.domain.costs import Budget, Charge, CostQuery, Payer, report
from recollect.domain.errors import ConflictError, NotFound
from recollect.domain.operations import (
    BookCharge,
    Erase,
    Rehome,
    RemoveAgent,
    RemoveModelClient,
    SetAgent,
    SetBudget,
    SetModelClient,
)
from recollect.domain.scopes import Place
from recollect.domain.usage import Usage
from recollect.testing.contract.workbench import ANA, BOB, FOREIGN, SHARED, OnWorkbench, Workbench

TENANT, APP = ANA.tenant, ANA.app
CHEAP = client_of({"label": "cheap", "model": "openai:small", "options": {"window": 8000}})
DEAR = client_of({"label": "dear", "model": "anthropic:large", "key_env": "DEAR_KEY"})


def agent(**said: Any) -> AgentRecord:
    """An agent that thinks with the dear one and remembers with the cheap one."""
    usual = {"label": "tutor", "model_client": "dear", "memory_model_client": "cheap"}
    return agent_of({**usual, "tools": ["look"], "context": {"tokens": 9}, **said})


def call(payer: Payer, at: int, money: int | None, model: str = "openai:small") -> BookCharge:
    """A call of a model."""
    usage = Usage(model, 100, 10, 5)
    return BookCharge(Charge(payer, at, "recall", "rewrite", "memory", usage, money))


class ModellingContract(OnWorkbench):
    """What a store must do about models, and about the money that they take."""

    def set_client(self, bench: Workbench, *clients: ModelClient) -> None:
        """Store clients."""
        bench.apply(*(SetModelClient(bench.stamp("set"), TENANT, one) for one in clients))

    def set_agent(self, bench: Workbench, one: AgentRecord) -> AgentRecord:
        """Store an agent."""
        stored: AgentRecord = bench.do(SetAgent(bench.stamp("set"), TENANT, APP, one))
        return stored

    def test_clients_are_kept_by_label_and_changed_in_place(self, bench: Workbench) -> None:
        self.set_client(bench, DEAR, CHEAP)
        self.set_client(bench, replace(CHEAP, active=False))
        off = replace(CHEAP, active=False)
        assert bench.run(bench.store.model_clients(TENANT)) == [off, DEAR]
        assert bench.run(bench.store.model_clients(FOREIGN.tenant)) == []
        told = [one.event for one in bench.changes(SHARED)]
        assert [one.subject for one in told] == ["model_client:dear"] + ["model_client:cheap"] * 2
        assert bench.problems() == []

    def test_agents_name_clients_that_exist(self, bench: Workbench) -> None:
        self.set_client(bench, DEAR, CHEAP)
        assert self.set_agent(bench, agent()) == agent()
        self.set_agent(bench, agent(label="bare", memory_model_client=None))
        found = bench.run(bench.store.agents(TENANT, APP))
        assert found == [agent(label="bare", memory_model_client=None), agent()]
        assert bench.run(bench.store.agents(TENANT, "elsewhere")) == []
        for field in ("model_client", "memory_model_client"):
            with pytest.raises(NotFound, match=f"'tutor': its {field} names .*'nope'"):
                self.set_agent(bench, agent(**{field: "nope"}))
        assert bench.run(bench.store.agents(TENANT, APP)) == found

    def test_a_client_that_an_agent_thinks_with_stays(self, bench: Workbench) -> None:
        self.set_client(bench, DEAR, CHEAP)
        self.set_agent(bench, agent())
        for label, release in (("dear", True), ("dear", False), ("cheap", False)):
            with pytest.raises(ConflictError, match=f"agent 'tutor' names .*{label!r}"):
                bench.do(RemoveModelClient(bench.stamp(), TENANT, label, release))
        bench.do(RemoveModelClient(bench.stamp(), TENANT, "cheap", release=True))
        assert bench.run(bench.store.agents(TENANT, APP)) == [agent(memory_model_client=None)]
        bench.do(RemoveAgent(bench.stamp(), TENANT, APP, "tutor"))
        bench.do(RemoveModelClient(bench.stamp(), TENANT, "dear"))
        assert bench.run(bench.store.model_clients(TENANT)) == []
        for op in (
            RemoveAgent(bench.stamp(), TENANT, APP, "tutor"),
            RemoveModelClient(bench.stamp(), TENANT, "dear"),
        ):
            with pytest.raises(NotFound):
                bench.do(op)
        assert bench.problems() == []

    def test_calls_are_summed_by_whatever_tells_them_apart(self, bench: Workbench) -> None:
        tutor = Payer(ANA, "s1", "tutor")
        bench.apply(
            call(tutor, 10, 2_000_000_000),
            call(tutor, 20, None, "acme:odd"),
            call(Payer(BOB), 30, 500_000_000),
            call(Payer(FOREIGN), 30, 7),
        )
        rows = bench.run(bench.store.costs(CostQuery(TENANT)))
        found = report(rows, ("user", "model"), {})
        told = [(*one.names.values(), one.usd, one.totals.unpriced) for one in found.lines]
        assert told == [
            ("ana", "openai:small", 2.0, 0),
            ("bob", "openai:small", 0.5, 0),
            ("ana", "acme:odd", 0.0, 1),
        ]
        total = found.total
        assert (total.calls, total.tokens_in, total.tokens_out, total.tokens_cached) == (
            *(3, 300, 30),
            15,
        )
        own = report(rows, (), {"session": "s1", "agent": "tutor"})
        assert (own.total.calls, own.total.money) == (2, 2_000_000_000)
        later = bench.run(bench.store.costs(CostQuery(TENANT, since=20, until=30)))
        assert report(later, (), {}).total.calls == 1

    def test_what_was_spent_is_known_by_user_agent_and_tenant(self, bench: Workbench) -> None:
        bench.apply(
            call(Payer(ANA, None, "tutor"), 10, 1),
            call(Payer(ANA), 20, 20),
            call(Payer(BOB, None, "tutor"), 30, 300),
            call(Payer(BOB), 30, None),
            call(Payer(FOREIGN, None, "tutor"), 30, 4000),
        )

        def spent(place: Place | None, name: str | None, since: int = 0) -> int:
            return bench.run(bench.store.spent(TENANT, place, name, since))

        assert spent(None, None) == 321
        assert (spent(ANA, None), spent(BOB, None), spent(SHARED, None)) == (21, 300, 0)
        assert (spent(None, "tutor"), spent(None, "tutor", 20), spent(None, "other")) == (
            301,
            300,
            0,
        )

    def test_budgets_are_one_for_each_owner(self, bench: Workbench) -> None:
        bench.apply(
            SetBudget(TENANT, ANA, None, "day", 5),
            SetBudget(TENANT, None, "tutor", "month", 6),
            SetBudget(TENANT, None, None, "total", 7),
            SetBudget(TENANT, ANA, None, "month", 8),
            SetBudget(FOREIGN.tenant, None, None, "month", 9),
        )
        found = bench.run(bench.store.budgets(TENANT))
        assert sorted((one.owner, one.period, one.money) for one in found) == [
            ("agent tutor", "month", 6),
            ("everybody", "total", 7),
            ("user ana", "month", 8),
        ]
        bench.do(SetBudget(TENANT, ANA, None, "month", None))
        bench.do(SetBudget(TENANT, BOB, None, "month", None))
        assert Budget(None, "tutor", "month", 6) in bench.run(bench.store.budgets(TENANT))
        assert len(bench.run(bench.store.budgets(TENANT))) == 2
        assert bench.problems() == []

    def test_an_erased_user_leaves_the_money_and_nothing_else(self, bench: Workbench) -> None:
        bench.apply(
            call(Payer(ANA, "s1", "tutor"), 10, 9),
            SetBudget(TENANT, ANA, None, "day", 5),
        )
        counts = bench.do(Erase(bench.stamp("erase"), (ANA,), everything=True))
        assert (counts["charges"], counts["budgets"]) == (1, 1)
        (row,) = bench.run(bench.store.costs(CostQuery(TENANT)))
        told = {name: row.names[name] for name in ("user", "session", "agent", "app")}
        assert told == {"user": None, "session": None, "agent": None, "app": ""}
        assert row.totals.money == 9
        assert bench.run(bench.store.budgets(TENANT)) == []
        assert bench.problems() == []

    def test_who_becomes_another_brings_the_costs_along(self, bench: Workbench) -> None:
        bench.apply(call(Payer(ANA, "s1"), 10, 9), SetBudget(TENANT, ANA, None, "day", 5))
        bench.do(Rehome(bench.stamp("merge"), ANA, BOB))
        assert bench.run(bench.store.spent(TENANT, BOB, None, 0)) == 9
        assert bench.run(bench.store.budgets(TENANT)) == []
        assert bench.problems() == []
