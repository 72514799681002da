"""Model clients and agents as data, what calls cost, and what they may cost."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from recollect.domain import times
from recollect.domain.clients import AgentRecord, ModelClient, agent_of, client_of
from recollect.domain.costs import (
    PERIODS,
    Budget,
    Cost,
    CostQuery,
    Payer,
    Period,
    billionths,
    report,
)
from recollect.domain.drafts import Moment
from recollect.domain.errors import (
    NotFound,
    RecollectError,
    ValidationError,
    shown,
)
from recollect.domain.operations import (
    Operation,
    RemoveAgent,
    RemoveModelClient,
    SetAgent,
    SetBudget,
    SetModelClient,
)
from recollect.domain.records import JsonObject
from recollect.domain.requests import Because
from recollect.domain.scopes import Place, Scope, check_name
from recollect.engine.asking import Asking, Choice
from recollect.engine.core import SALT_BYTES
from recollect.engine.ledger import Call
from recollect.engine.remembering import replace_salt
from recollect.logs import ms_since
from recollect.ports.chat import Ask, Turn

#: What a model is asked to see whether it answers at all.
HELLO = Turn("user", "Answer with the word: ready")
TEST_TOKENS_MAX = 64
TEST_DEADLINE_S = 30.0


class Modelling(Asking):
    """Model clients, agents, costs and budgets."""

    # -- model clients ---------------------------------------------------------------------------

    async def set_model(
        self, scope: Scope, fields: Mapping[str, Any], because: Because
    ) -> ModelClient:
        """Store a client, or change it: what is not said stays as it was."""
        before = await self._before(fields, await self._store.model_clients(scope.tenant))
        client = client_of({**before, **fields})
        stamp = self._stamp("set model client", because)
        await self._store.apply([SetModelClient(stamp, scope.tenant, client)])
        return client

    async def model_clients(self, scope: Scope) -> Sequence[ModelClient]:
        """All clients, by label."""
        return await self._store.model_clients(scope.tenant)

    async def remove_model(
        self, scope: Scope, label: str, because: Because, *, release: bool
    ) -> None:
        """Remove a client that no agent needs; `release` lets agents remember with another."""
        stamp = self._stamp("remove model client", because)
        await self._store.apply([RemoveModelClient(stamp, scope.tenant, label, release)])

    async def test_model(self, scope: Scope, label: str) -> JsonObject:
        """Ask a model for one word, and tell how that went; booked like every other call."""
        clients = {one.label: one for one in await self._store.model_clients(scope.tenant)}
        if label not in clients and ":" not in label:
            raise NotFound(f"no model client {label!r}")
        choice = self._named(label, clients, "the model to test")
        call = Call(Payer.of(scope), "test", "reasoning", choice.names, choice.clients)
        chat = self._booked(choice, call)
        begun = time.perf_counter()
        told: JsonObject = {"label": label, "model": choice.names[0], "ok": True, "error": None}
        try:
            asked = Ask((HELLO,), "test", tokens_max=TEST_TOKENS_MAX, deadline_s=TEST_DEADLINE_S)
            answer = await chat.answer(asked)
            told |= {"model": answer.model, "tokens_in": answer.tokens_in}
            told |= {"tokens_out": answer.tokens_out}
        except RecollectError as exc:
            told |= {"ok": False, "error": f"{exc.code}: {exc}"}
        return {**told, "ms": round(ms_since(begun))}

    # -- agents ----------------------------------------------------------------------------------

    async def set_agent(
        self, scope: Scope, fields: Mapping[str, Any], because: Because
    ) -> AgentRecord:
        """Store an agent, or change it: what is not said stays as it was."""
        before = await self._before(fields, await self._store.agents(scope.tenant, scope.app))
        agent = agent_of({**before, **fields})
        stamp = self._stamp("set agent", because)
        await self._store.apply([SetAgent(stamp, scope.tenant, scope.app, agent)])
        return agent

    async def agents(self, scope: Scope) -> Sequence[AgentRecord]:
        """All agents of the app, by label."""
        return await self._store.agents(scope.tenant, scope.app)

    async def remove_agent(self, scope: Scope, label: str, because: Because) -> None:
        """Remove an agent; its memories stay."""
        stamp = self._stamp("remove agent", because)
        await self._store.apply([RemoveAgent(stamp, scope.tenant, scope.app, label)])

    async def load_agents(
        self, scope: Scope, said: Mapping[str, Any], because: Because
    ) -> JsonObject:
        """Take over clients and agents as a file lists them, all of them or none."""
        unknown = set(said) - {"model_clients", "agents"}
        if unknown:
            raise ValidationError(
                f"unknown part {shown(min(unknown))}; known: model_clients, agents", field="agents"
            )
        stamp = self._stamp("load agents", because)
        operations: list[Operation] = []
        for one in _listed(said, "model_clients"):
            salted = replace_salt(stamp, self._entropy.bytes(SALT_BYTES))
            operations.append(SetModelClient(salted, scope.tenant, client_of(one)))
        for one in _listed(said, "agents"):
            salted = replace_salt(stamp, self._entropy.bytes(SALT_BYTES))
            operations.append(SetAgent(salted, scope.tenant, scope.app, agent_of(one)))
        await self._store.apply(operations)
        return {name: len(_listed(said, name)) for name in ("model_clients", "agents")}

    async def _before(
        self, fields: Mapping[str, Any], known: Sequence[ModelClient] | Sequence[AgentRecord]
    ) -> JsonObject:
        label = fields.get("label")
        return next((one.to_dict() for one in known if one.label == label), {})

    # -- costs -----------------------------------------------------------------------------------

    async def cost(
        self,
        scope: Scope,
        by: Sequence[str],
        only: Mapping[str, str | None],
        since: Moment | None,
        until: Moment | None,
    ) -> Cost:
        """What calls of the tenant took."""
        query = CostQuery(
            scope.tenant,
            self._moment(since, "since") or 0,
            times.LAST if until is None else self._moment(until, "until") or 0,
        )
        return report(await self._store.costs(query), tuple(by), only)

    async def set_budget(
        self, scope: Scope, usd: float | None, period: str, user: str | None, agent: str | None
    ) -> None:
        """Set what may be spent by a user, an agent or everybody; None takes the budget away."""
        if period not in PERIODS:
            raise ValidationError(
                f"period must be {', '.join(PERIODS)}, not {shown(period)}", field="period"
            )
        if user is not None and agent is not None:
            raise ValidationError("a budget is a user's or an agent's, not both's", field="agent")
        if agent is not None:
            check_name(agent, field="agent")
        place = None if user is None else self._place_of(scope, user)
        money = None if usd is None else billionths(usd, field="usd")
        chosen: Period = next(one for one in PERIODS if one == period)
        await self._store.apply([SetBudget(scope.tenant, place, agent, chosen, money)])

    async def budgets(self, scope: Scope) -> Sequence[Budget]:
        """All budgets, with what was spent of each in its present period."""
        return [
            replace(one, spent=await self._ledger.spent(scope.tenant, one))
            for one in await self._store.budgets(scope.tenant)
        ]

    def _place_of(self, scope: Scope, user: str) -> Place:
        return scope.narrowed(user=user, space=None).home

    # -- status ----------------------------------------------------------------------------------

    async def models_status(self, scope: Scope) -> JsonObject:
        """Which models work for a scope, and why those; asks none of them."""
        chosen: JsonObject = {}
        for purpose, choose in (
            ("memory", self._for_memory),
            ("reasoning", self._for_reasoning),
        ):
            try:
                chosen[purpose] = _told(await choose(scope))
            except RecollectError as exc:
                chosen[purpose] = {"model": None, "label": None, "why": str(exc)}
        embedder = self._embedder
        if self._metered is not None:
            chosen["embedding"] = self._metered.model
        else:
            chosen["embedding"] = None if embedder is None else type(embedder).__name__
        return chosen


def _told(choice: Choice) -> JsonObject:
    labels = [one.label for one in choice.clients]
    return {
        "model": choice.names[0] if choice.names else None,
        "label": labels[0] if labels else None,
        "fallbacks": labels[1:],
        "why": choice.why,
    }


def _listed(said: Mapping[str, Any], name: str) -> Sequence[Any]:
    found = said.get(name) or []
    if not isinstance(found, list | tuple):
        raise ValidationError(f"{name} must be a list, not {shown(found)}", field=name)
    return found
