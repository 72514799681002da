"""Acceptance S2 and S0, costs: every call is booked, priced, bounded, and survives a restart."""

from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Memory
from recollect.client.runner import Inline, LoopThread
from recollect.domain.errors import BudgetExceeded, ProviderBadResponse, StorageFull
from recollect.domain.scopes import Scope
from recollect.domain.usage import Usage
from recollect.engine.engine import Engine
from recollect.models.beside import EmbedderBeside
from recollect.models.embedding.remote import RemoteEmbedder
from recollect.models.prices import PriceList
from recollect.ports.chat import Answer, Ask, Turn
from recollect.testing import FrozenClock, ScriptedChat, ScriptedProvider, open_memory

#: The seed's, per 1,000 tokens in and out, times a thousand.
PRICES = {"deepseek:deepseek-chat": (0.14, 0.28), "anthropic:claude-sonnet": (3.0, 15.0)}
CLAUDE, DEEPSEEK = "anthropic:claude-sonnet", "deepseek:deepseek-chat"
MILLION = 1_000_000
ASK = Ask((Turn("user", "Hello."),), "summary")


def said(model: str, tokens_in: int, tokens_out: int = 0) -> Answer:
    return Answer("fine", model, tokens_in, tokens_out)


def ask(memory: Memory, *, purpose: str = "memory", operation: str = "context", **who: Any) -> str:
    engine = memory._inner._backend
    assert isinstance(engine, Engine)
    scope = Scope().narrowed(**who)
    choose = engine._memory_model if purpose == "memory" else engine._reasoning_model
    chat = Inline().run(choose(scope, operation))
    assert chat is not None
    return Inline().run(chat.answer(ASK)).text


@pytest.mark.acceptance("2.10")
@pytest.mark.acceptance("0.11")
def test_the_seeds_sum_is_right_told_apart_in_every_way_and_survives_a_restart(
    tmp_path: Path,
) -> None:
    file = str(tmp_path / "memory.db")
    claude = ScriptedChat(said(CLAUDE, MILLION), model=CLAUDE)
    deepseek = ScriptedChat(said(DEEPSEEK, MILLION), model=DEEPSEEK)
    models = {"memory_model": deepseek, "reasoning_model": claude, "prices": PRICES}
    with recollect.open(file, **models) as memory:
        ask(memory, user="ana", session="s1", agent="tutor")
        ask(memory, purpose="reasoning", user="bob", operation="reply")
    with recollect.open(file) as memory:
        cost = memory.cost(by="model")
        assert round(cost.usd, 9) == 3.14
        assert [(one.names["model"], one.usd) for one in cost.lines] == [
            (CLAUDE, 3.0),
            (DEEPSEEK, 0.14),
        ]
        apart = {one.names["purpose"]: one for one in memory.cost(by="purpose").lines}
        assert {name: one.usd for name, one in apart.items()} == {"memory": 0.14, "reasoning": 3.0}
        assert apart["memory"].totals.tokens_in == MILLION
        for word, names in {
            "user": {"ana", "bob"},
            "session": {"s1", None},
            "agent": {"tutor", None},
            "operation": {"context", "reply"},
            "task": {"summary"},
        }.items():
            assert {one.names[word] for one in memory.cost(by=word).lines} == names
        assert memory.cost(user="ana").usd == memory.cost(agent="tutor").usd == 0.14
        assert memory.cost(since="2100-01-01").total.calls == 0
        assert memory.verify().ok


@pytest.mark.acceptance("2.10")
def test_a_price_that_nobody_knows_is_flagged_and_not_zero() -> None:
    chat = ScriptedChat(said("acme:odd", 1000, 50), model="acme:odd")
    with open_memory(memory_model=chat) as memory:
        ask(memory)
        (line,) = memory.cost().lines
        assert (line.totals.unpriced, line.totals.money, line.totals.tokens_in) == (1, 0, 1000)
        assert memory.cost().to_dict()["total"]["unpriced"] == 1


def test_the_price_list_knows_the_usual_models_and_a_model_at_home_is_free() -> None:
    prices = PriceList()
    now = FrozenClock("2026-03-01").now()
    assert prices.money(Usage("openai:gpt-4o-mini", MILLION, 0), now) == 150_000_000
    assert prices.money(Usage("openai:text-embedding-3-small", MILLION, 0), now) == 20_000_000
    assert prices.money(Usage("ollama:llama3.2", MILLION, MILLION), now) == 0
    assert prices.money(Usage("acme:gpt-4o-mini", 1, 1), now) is None
    cached = Usage("acme:x", 100, 10, 60)
    assert PriceList({"acme:x": (1, 10, 0.1)}).money(cached, now) == 40_000 + 6_000 + 100_000


def test_what_could_not_be_used_was_paid_for_all_the_same() -> None:
    wrong = ProviderBadResponse("no JSON", spent=[Usage(CLAUDE, 10, 5), Usage(CLAUDE, 20, 5)])
    again = Answer("fine", CLAUDE, 7, 1, before=(Usage(CLAUDE, 7, 1),))
    with open_memory(memory_model=ScriptedChat(wrong, again), prices=PRICES) as memory:
        with pytest.raises(ProviderBadResponse):
            ask(memory)
        ask(memory)
        total = memory.cost().total
    assert (total.calls, total.tokens_in) == (4, 44)


# -- budgets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound", "who"),
    [({"user": "ana"}, {"user": "ana"}), ({"agent": "tutor"}, {"agent": "tutor"}), ({}, {})],
    ids=["user", "agent", "everybody"],
)
def test_a_budget_is_kept_before_the_call_and_by_its_owner_alone(
    bound: dict[str, str], who: dict[str, str]
) -> None:
    chat = ScriptedChat(then=lambda _: said(DEEPSEEK, MILLION), model=DEEPSEEK)
    clock = FrozenClock("2026-03-30T12:00:00Z")
    with open_memory(memory_model=chat, prices=PRICES, clock=clock) as memory:
        memory.budgets().set(0.2, **bound, period="month")
        for _ in range(2):  # 14 cents each: the second one passes it
            ask(memory, **who)
        with pytest.raises(BudgetExceeded, match=r"\$0\.2800 of \$0\.2000 \(month\)"):
            ask(memory, **who)
        assert len(chat.asked) == 2, "nothing was sent"
        if bound:
            ask(memory, user="bob")
        (budget,) = memory.budgets().list()
        assert (budget.usd, budget.spent_usd) == (0.2, 0.28)
        assert memory.status()["budgets"] == [budget.to_dict()]
        clock.advance(days=3)  # another month
        ask(memory, **who)
        memory.budgets().set(9, **bound)
        ask(memory, **who)
        memory.budgets().remove(**bound)
        assert memory.budgets().list() == []


def test_under_a_budget_a_model_without_a_price_is_not_asked() -> None:
    chat = ScriptedChat(then=lambda _: said("acme:odd", 9), model="acme:odd")
    with open_memory(memory_model=chat) as memory:
        memory.budgets().set(1)
        with pytest.raises(BudgetExceeded, match="nobody knows what acme:odd costs"):
            ask(memory)
        assert chat.asked == []


def test_over_budget_the_memory_goes_on_by_words_and_says_so(tmp_path: Path) -> None:
    with ScriptedProvider() as there:
        embedder = RemoteEmbedder(there.client(model="emb-1"), environment=there.environment)
        beside = EmbedderBeside(embedder, LoopThread)
        prices = {"openai:emb-1": (1.0, 0.0)}
        file = str(tmp_path / "memory.db")
        with recollect.open(file, embedder=beside, prices=prices) as memory:
            ana = memory.scope(user="ana")
            ana.remember("Ana moved to Lisbon in March.")
            told = memory.cost(by=["purpose", "task", "operation", "user"]).lines[0]
            assert dict(told.names) == {
                "purpose": "embedding",
                "task": "vectors",
                "operation": "remember",
                "user": "ana",
            }
            assert told.totals.tokens_in > 0 < told.totals.money
            memory.budgets().set(0, user="ana")
            assert ana.remember("Ana likes tea.").pending_embedding
            found = ana.recall("Lisbon")
            assert found.top is not None
            assert (found.lanes, found.degraded) == (("words",), ("meaning",))
            asked = len(there.heard)
            memory.budgets().remove(user="ana")
            assert ana.recall("Lisbon").lanes == ("words", "meaning")
            assert len(there.heard) == asked + 1
        Inline().run(beside.close())


def test_a_call_is_booked_later_if_the_store_fails_and_counts_until_then() -> None:
    chat = ScriptedChat(then=lambda _: said(DEEPSEEK, MILLION), model=DEEPSEEK)
    with open_memory(memory_model=chat, prices=PRICES) as memory:
        engine = memory._inner._backend
        assert isinstance(engine, Engine)
        store = engine._ledger._store
        apply = store.apply

        async def full(*_: Any, **__: Any) -> Any:
            raise StorageFull("no space")

        memory.budgets().set(0.2)
        store.apply = full  # type: ignore[method-assign]
        ask(memory)
        ask(memory)
        with pytest.raises(BudgetExceeded):
            ask(memory)
        store.apply = apply  # type: ignore[method-assign]
        memory.budgets().set(9)
        ask(memory)
        assert memory.cost().total.calls == 3
