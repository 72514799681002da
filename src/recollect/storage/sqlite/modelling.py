"""Model clients, agents, charges and budgets in the file."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import apsw

from recollect.domain import digests, operations, times
from recollect.domain.clients import AgentRecord, ModelClient
from recollect.domain.costs import Budget, CostQuery, CostRow, Totals
from recollect.domain.errors import ConflictError, NotFound
from recollect.domain.records import compact
from recollect.domain.scopes import DEFAULT_APP, Place, PlaceKind
from recollect.storage.sqlite import rows
from recollect.storage.sqlite.sql import query, scalar, stream
from recollect.storage.sqlite.writing import Transaction

#: The place of what is nobody's in particular.
NOBODY = 0


def set_client(tx: Transaction, op: operations.SetModelClient) -> ModelClient:
    """Store a client, or change it."""
    one = op.client
    values = (
        *(op.tenant, one.label, one.provider, one.model, one.base_url, one.key_env),
        *(compact(one.options), int(one.active)),
    )
    number = tx.scalar("put_model_client", *values, digests.checksum(*values))
    _event(tx, op, op.tenant, DEFAULT_APP, "model_client", number, one.label)
    return one


def remove_client(tx: Transaction, op: operations.RemoveModelClient) -> None:
    """Remove a client that no agent needs."""
    number = tx.scalar("model_client_id", op.tenant, op.label)
    if number is None:
        raise NotFound(f"no model client {op.label!r}")
    used = tx.query("agents_of_client", number)
    needed = [(app, label, field) for app, label, field in used if field == "model_client"]
    if needed or (used and not op.release):
        _, label, field = (needed or used)[0]
        raise ConflictError(
            f"agent {label!r} names the model client {op.label!r} as its {field}; change the agent "
            "first" + ("" if needed else ", or remove it with release")
        )
    tx.run("release_memory_client", number)
    tx.run("delete_model_client", number)
    _event(tx, op, op.tenant, DEFAULT_APP, "model_client", number, op.label)


def set_agent(tx: Transaction, op: operations.SetAgent) -> AgentRecord:
    """Store an agent, or change it; the clients that it names have to exist."""
    one = op.agent
    clients: dict[str, int | None] = {}
    for field in ("model_client", "memory_model_client"):
        label = getattr(one, field)
        clients[field] = None if label is None else tx.scalar("model_client_id", op.tenant, label)
        if label is not None and clients[field] is None:
            raise NotFound(
                f"agent {one.label!r}: its {field} names the model client {label!r}, which does "
                "not exist"
            )
    number = tx.scalar(
        "put_agent",
        *(op.tenant, op.app, one.label, one.type, one.system_message, *clients.values()),
        *(compact(one.context), compact(list(one.tools)), one.description),
    )
    _event(tx, op, op.tenant, op.app, "agent", number, one.label)
    return one


def remove_agent(tx: Transaction, op: operations.RemoveAgent) -> None:
    """Remove an agent; its memories stay."""
    number = tx.scalar("agent_id", op.tenant, op.app, op.label)
    if number is None:
        raise NotFound(f"no agent {op.label!r}")
    tx.run("delete_agent", number)
    _event(tx, op, op.tenant, op.app, "agent", number, op.label)


def _event(
    tx: Transaction, op: Any, tenant: str, app: str, what: str, number: int, label: str
) -> None:
    place = tx.place(Place(tenant, app, PlaceKind.SHARED, ""))
    tx.event(op.stamp, place, what, number, detail={"id": label})


def charge(tx: Transaction, op: operations.BookCharge) -> None:
    """Write down what a call took."""
    one = op.charge
    used, payer = one.usage, one.payer
    tx.run(
        "insert_charge",
        *(payer.place.tenant, tx.place(payer.place), payer.session, payer.agent, one.at),
        *(one.operation, one.task, one.purpose, used.model),
        *(used.tokens_in, used.tokens_out, used.tokens_cached, one.money),
    )


def set_budget(tx: Transaction, op: operations.SetBudget) -> None:
    """Set a budget, or take it away."""
    place = NOBODY if op.place is None else tx.place(op.place)
    key = (op.tenant, place, op.agent or "")
    if op.money is None:
        tx.run("delete_budget", *key)
    else:
        values = (*key, op.period, op.money)
        tx.run("put_budget", *values, digests.checksum(*values))


# -- reading ---------------------------------------------------------------------------------------


def clients(connection: apsw.Connection, tenant: str) -> list[ModelClient]:
    """The clients of a tenant."""
    return [
        ModelClient(
            label=label,
            provider=provider,
            model=model,
            base_url=base_url,
            key_env=key_env,
            options=json.loads(options),
            active=bool(active),
        )
        for _, label, provider, model, base_url, key_env, options, active in stream(
            connection, "model_clients", tenant
        )
    ]


def agents(connection: apsw.Connection, tenant: str, app: str) -> list[AgentRecord]:
    """The agents of an app."""
    return [
        AgentRecord(
            label=label,
            type=kind,
            system_message=message,
            model_client=thinks,
            memory_model_client=remembers,
            context=json.loads(context),
            tools=tuple(json.loads(tools)),
            description=description,
        )
        for _, label, kind, message, thinks, remembers, context, tools, description in stream(
            connection, "agents", tenant, app
        )
    ]


def costs(connection: apsw.Connection, wanted: CostQuery) -> list[CostRow]:
    """Sums over calls, by day and everything that they are told apart by."""
    found: list[CostRow] = []
    for row in stream(connection, "costs", wanted.tenant, wanted.since, wanted.until):
        day, app, kind, name, session, agent, operation, task, purpose, model, *sums = row
        names = {
            "day": times.iso(times.show(day * times.DAY))[:10],
            "app": app,
            "user": name if kind == PlaceKind.USER.value else None,
            "session": session,
            "agent": agent,
            "operation": operation,
            "task": task,
            "purpose": purpose,
            "model": model,
        }
        found.append(CostRow(names, Totals(*sums)))
    return found


def spent(
    connection: apsw.Connection, tenant: str, place: Place | None, agent: str | None, since: int
) -> int:
    """What was spent since a moment by a user, an agent or everybody."""
    if place is not None:
        return scalar(connection, "spent_by_place", rows.place_id(connection, place), since)
    if agent is not None:
        return scalar(connection, "spent_by_agent", tenant, agent, since)
    return scalar(connection, "spent_by_tenant", tenant, since)


def budgets(connection: apsw.Connection, tenant: str) -> list[Budget]:
    """The budgets of a tenant."""
    return [
        Budget(
            None if place == NOBODY else rows.place_of(connection, place),
            agent or None,
            period,
            money,
        )
        for place, agent, period, money in query(connection, "budgets", tenant)
    ]


MODELLING: Mapping[type, Callable[[Transaction, Any], Any]] = {
    operations.SetModelClient: set_client,
    operations.RemoveModelClient: remove_client,
    operations.SetAgent: set_agent,
    operations.RemoveAgent: remove_agent,
    operations.BookCharge: charge,
    operations.SetBudget: set_budget,
}
