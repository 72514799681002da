"""Model clients, agents, charges and budgets in memory."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from recollect.domain import operations, times
from recollect.domain.clients import AgentRecord, ModelClient
from recollect.domain.costs import Budget, CostQuery, CostRow, Totals
from recollect.domain.errors import ConflictError, NotFound
from recollect.domain.scopes import DEFAULT_APP, Place, PlaceKind
from recollect.storage.memory.tables import Tables


def set_client(tables: Tables, op: operations.SetModelClient) -> ModelClient:
    """Store a client, or change it."""
    tables.clients[(op.tenant, op.client.label)] = copy.deepcopy(op.client)
    _event(tables, op, op.tenant, DEFAULT_APP, "model_client", op.client.label)
    return op.client


def remove_client(tables: Tables, op: operations.RemoveModelClient) -> None:
    """Remove a client that no agent needs."""
    if (op.tenant, op.label) not in tables.clients:
        raise NotFound(f"no model client {op.label!r}")
    own = {key: one for key, one in sorted(tables.agents.items()) if key[0] == op.tenant}
    for field in ("model_client", "memory_model_client"):
        for one in own.values():
            if getattr(one, field) == op.label and (field == "model_client" or not op.release):
                raise ConflictError(
                    f"agent {one.label!r} names the model client {op.label!r} as its {field}; "
                    "change the agent first"
                    + ("" if field == "model_client" else ", or remove it with release")
                )
    for key, one in own.items():
        if one.memory_model_client == op.label:
            tables.agents[key] = replace(one, memory_model_client=None)
    del tables.clients[(op.tenant, op.label)]
    _event(tables, op, op.tenant, DEFAULT_APP, "model_client", op.label)


def set_agent(tables: Tables, op: operations.SetAgent) -> AgentRecord:
    """Store an agent, or change it; the clients that it names have to exist."""
    for field in ("model_client", "memory_model_client"):
        label = getattr(op.agent, field)
        if label is not None and (op.tenant, label) not in tables.clients:
            raise NotFound(
                f"agent {op.agent.label!r}: its {field} names the model client {label!r}, which "
                "does not exist"
            )
    tables.agents[(op.tenant, op.app, op.agent.label)] = copy.deepcopy(op.agent)
    _event(tables, op, op.tenant, op.app, "agent", op.agent.label)
    return op.agent


def remove_agent(tables: Tables, op: operations.RemoveAgent) -> None:
    """Remove an agent; its memories stay."""
    if (op.tenant, op.app, op.label) not in tables.agents:
        raise NotFound(f"no agent {op.label!r}")
    del tables.agents[(op.tenant, op.app, op.label)]
    _event(tables, op, op.tenant, op.app, "agent", op.label)


def _event(tables: Tables, op: Any, tenant: str, app: str, what: str, label: str) -> None:
    place = tables.place(Place(tenant, app, PlaceKind.SHARED, ""))
    tables.event(op.stamp, place, what, tables.next(what), detail={"id": label})


def charge(tables: Tables, op: operations.BookCharge) -> None:
    """Write down what a call took."""
    tables.place(op.charge.payer.place)
    tables.charges[tables.next("charge")] = op.charge


def set_budget(tables: Tables, op: operations.SetBudget) -> None:
    """Set a budget, or take it away."""
    key = (op.tenant, op.place, op.agent)
    if op.money is not None:
        tables.budgets[key] = Budget(op.place, op.agent, op.period, op.money)
    elif key in tables.budgets:
        del tables.budgets[key]


def forget_payer(tables: Tables, place: Place) -> int:
    """Forget for whom was paid; the money stays in the sums."""
    nobody = Place(place.tenant, "", PlaceKind.ANONYMOUS, "")
    forgotten = 0
    for number, one in list(tables.charges.items()):
        if one.payer.place == place:
            payer = replace(one.payer, place=nobody, session=None, agent=None)
            tables.charges[number] = replace(one, payer=payer)
            forgotten += 1
    return forgotten


def move_payer(tables: Tables, origin: Place, destination: Place) -> None:
    """Charges of one place are another's from now on."""
    for number, one in list(tables.charges.items()):
        if one.payer.place == origin:
            payer = replace(one.payer, place=destination)
            tables.charges[number] = replace(one, payer=payer)
    tables.budgets.drop(lambda key, _: key[1] == origin)


# -- reading ---------------------------------------------------------------------------------------


def clients(tables: Tables, tenant: str) -> list[ModelClient]:
    """The clients of a tenant."""
    found = sorted((key, one) for key, one in tables.clients.items() if key[0] == tenant)
    return [copy.deepcopy(one) for _, one in found]


def agents(tables: Tables, tenant: str, app: str) -> list[AgentRecord]:
    """The agents of an app."""
    found = sorted((key, one) for key, one in tables.agents.items() if key[:2] == (tenant, app))
    return [copy.deepcopy(one) for _, one in found]


def costs(tables: Tables, wanted: CostQuery) -> list[CostRow]:
    """One row for each call."""
    found: list[CostRow] = []
    for _, one in sorted(tables.charges.items()):
        place, used = one.payer.place, one.usage
        if place.tenant != wanted.tenant or not wanted.since <= one.at < wanted.until:
            continue
        names = {
            "day": times.iso(times.show(one.at))[:10],
            "app": place.app,
            "user": place.name if place.kind is PlaceKind.USER else None,
            "session": one.payer.session,
            "agent": one.payer.agent,
            "operation": one.operation,
            "task": one.task,
            "purpose": one.purpose,
            "model": used.model,
        }
        unpriced = one.money is None
        tokens = (used.tokens_in, used.tokens_out, used.tokens_cached)
        found.append(CostRow(names, Totals(1, *tokens, one.money or 0, int(unpriced))))
    return found


def spent(tables: Tables, tenant: str, place: Place | None, agent: str | None, since: int) -> int:
    """What was spent since a moment by a user, an agent or everybody."""
    return sum(
        one.money or 0
        for one in tables.charges.values()
        if one.at >= since
        and one.payer.place.tenant == tenant
        and place in (None, one.payer.place)
        and agent in (None, one.payer.agent)
    )


def budgets(tables: Tables, tenant: str) -> list[Budget]:
    """The budgets of a tenant."""
    return [one for key, one in tables.budgets.items() if key[0] == tenant]


MODELLING: Mapping[type, Callable[[Tables, Any], Any]] = {
    operations.SetModelClient: set_client,
    operations.RemoveModelClient: remove_client,
    operations.SetAgent: set_agent,
    operations.RemoveAgent: remove_agent,
    operations.BookCharge: charge,
    operations.SetBudget: set_budget,
}
