"""The ledger: may this call be made, and what did it take.

Decides by budgets before a call and writes down every call after it. A call that was made is
written down even if the store fails at that moment: together with the next one.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.domain.clients import ModelClient
from recollect.domain.costs import Budget, Charge, Payer, began, priced
from recollect.domain.errors import BudgetExceeded, StorageError
from recollect.domain.operations import BookCharge
from recollect.domain.usage import Usage
from recollect.logs import note
from recollect.ports.prices import Prices
from recollect.ports.store import Store
from recollect.ports.world import Clock

LOG = logging.getLogger("recollect.models")
WAITING_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Call:
    """Who calls which models, and what for."""

    payer: Payer
    operation: str  #: what it serves: remember, recall, context, …
    purpose: str  #: memory, reasoning or embedding
    models: tuple[str, ...]  #: those that may answer
    clients: tuple[ModelClient, ...] = ()


class Ledger:
    """Books calls, and refuses those that a budget does not allow."""

    def __init__(self, store: Store, clock: Clock, prices: Prices | None) -> None:
        self._store = store
        self._clock = clock
        self._prices = prices
        self._waiting: list[Charge] = []
        self._taking = threading.Lock()

    async def check(self, call: Call) -> None:
        """BudgetExceeded if a call may not be made.

        Calls that are under way are not counted yet, so a budget can be passed by those.
        """
        payer, tenant = call.payer, call.payer.place.tenant
        for budget in await self._store.budgets(tenant):
            if budget.place not in (None, payer.place) or budget.agent not in (None, payer.agent):
                continue
            spent = await self.spent(tenant, budget)
            if spent >= budget.money:
                raise BudgetExceeded(
                    f"the budget of {budget.owner} is spent: ${spent / 1e9:.4f} of "
                    f"${budget.usd:.4f} ({budget.period}); raise it, or go on without a model"
                )
            now = self._clock.now()
            for model in call.models:
                if self._money(Usage(model, 1, 1), call, now) is None:
                    raise BudgetExceeded(
                        f"nobody knows what {model} costs, so the budget of {budget.owner} cannot "
                        "be kept: say price_in and price_out in the options of its client"
                    )

    async def spent(self, tenant: str, budget: Budget) -> int:
        """What was spent of a budget in its present period."""
        since = began(budget.period, self._clock.now())
        spent = await self._store.spent(tenant, budget.place, budget.agent, since)
        return spent + sum(
            one.money or 0
            for one in self._waiting
            if one.at >= since
            and budget.place in (None, one.payer.place)
            and budget.agent in (None, one.payer.agent)
        )

    async def book(self, call: Call, task: str, usages: Sequence[Usage]) -> None:
        """Write down what was used."""
        at = self._clock.now()
        told = (call.operation, task, call.purpose)
        charges = [Charge(call.payer, at, *told, one, self._money(one, call, at)) for one in usages]
        with self._taking:
            waiting, self._waiting = [*self._waiting, *charges][-WAITING_MAX:], []
        if not waiting:
            return
        try:
            await self._store.apply([BookCharge(one) for one in waiting])
        except StorageError as exc:
            with self._taking:
                self._waiting = [*waiting, *self._waiting]
            what = "calls of models could not be written down yet"
            note(LOG, logging.WARNING, what, calls=len(waiting), error=type(exc).__name__)

    def _money(self, usage: Usage, call: Call, at: int) -> int | None:
        """Billionths of a dollar: as the client says, else as the list does."""
        for client in call.clients:
            said = client.options
            if client.name == usage.model and "price_in" in said:
                out = said["price_out" if "price_out" in said else "price_in"]
                return priced(usage, said["price_in"], out, said.get("price_cached"))
        return None if self._prices is None else self._prices.money(usage, at)
