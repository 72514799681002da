"""One writer at a time, many writes per commit.

Threads that write at once queue up; whoever gets the file writes for all that wait, each in a
savepoint of its own, and syncs once. No thread is needed for that: the first in line does the
work. A failed sync poisons the connection, since pages that the kernel dropped must not be
trusted: it is closed and the file opened anew.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import apsw

from recollect.domain.errors import ClosedError, RecollectError, StorageUnavailable
from recollect.logs import ms_since, note
from recollect.storage.sqlite.connection import translated

LOG = logging.getLogger("recollect.storage")
Work = Callable[[apsw.Connection], Any]
GROUP_MAX = 64


class Ticket:
    """One caller's work, and what became of it."""

    __slots__ = ("answer", "done", "error", "work")

    def __init__(self, work: Work) -> None:
        self.work = work
        self.done = False
        self.answer: Any = None
        self.error: BaseException | None = None


class Committer:
    """Runs work in transactions on the one connection that writes."""

    def __init__(self, connect: Callable[[], apsw.Connection]) -> None:
        self._connect = connect
        self._connection: apsw.Connection | None = connect()
        self._queue: list[Ticket] = []
        self._queueing = threading.Lock()
        self._writing = threading.Lock()
        self._closed = False

    def run(self, work: Work) -> Any:
        """Run work in a transaction and return its answer once it is on disk."""
        ticket = Ticket(work)
        with self._queueing:
            self._queue.append(ticket)
        try:
            with self._writing:
                if not ticket.done:
                    self._lead(ticket)
        finally:
            if not ticket.done:  # interrupted while it waited: nobody may write it later
                self._withdraw(ticket)
        if ticket.error is not None:
            raise ticket.error
        return ticket.answer

    def alone(self, work: Work) -> Any:
        """Run work on the connection outside any transaction (checkpoints, backups)."""
        with self._writing, translated("maintain the store"):
            return work(self._opened())

    def close(self) -> None:
        """Close the connection once the current writer is done."""
        with self._writing:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _withdraw(self, ticket: Ticket) -> None:
        with self._queueing:
            self._queue = [one for one in self._queue if one is not ticket]

    def _lead(self, own: Ticket) -> None:
        with self._queueing:
            tickets = self._queue[:GROUP_MAX]
            if own not in tickets:
                tickets = [*tickets[:-1], own]
            self._queue = [one for one in self._queue if one not in tickets]
        try:
            begun = time.perf_counter()
            with translated("write"):
                self._commit(self._opened(), tickets)
            note(LOG, logging.DEBUG, "committed", writers=len(tickets), ms=ms_since(begun))
        except BaseException as exc:
            for ticket in tickets:
                ticket.error = ticket.error or _told_to(ticket, own, exc)
        finally:
            for ticket in tickets:
                ticket.done = True

    def _opened(self) -> apsw.Connection:
        if self._closed:
            raise ClosedError("the store is closed; open it again")
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _commit(self, connection: apsw.Connection, tickets: list[Ticket]) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            if len(tickets) == 1:
                self._alone_in_transaction(connection, tickets[0])
                return
            for ticket in tickets:
                self._in_savepoint(connection, ticket)
            connection.execute("COMMIT")
        except BaseException:
            self._abandon(connection)
            raise

    def _alone_in_transaction(self, connection: apsw.Connection, ticket: Ticket) -> None:
        try:
            ticket.answer = ticket.work(connection)
        except RecollectError as exc:
            ticket.error = exc
            connection.execute("ROLLBACK")
            return
        connection.execute("COMMIT")

    def _in_savepoint(self, connection: apsw.Connection, ticket: Ticket) -> None:
        connection.execute("SAVEPOINT one")
        try:
            ticket.answer = ticket.work(connection)
        except RecollectError as exc:
            ticket.error = exc
            connection.execute("ROLLBACK TO one")
        connection.execute("RELEASE one")

    def _abandon(self, connection: apsw.Connection) -> None:
        """Give up a transaction that SQLite could not carry out, and the connection with it."""
        self._connection = None
        note(LOG, logging.WARNING, "gave up a transaction; the file is opened anew")
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.close()
        except apsw.Error:
            connection.close(True)


def _told_to(ticket: Ticket, own: Ticket, error: BaseException) -> BaseException:
    """What a waiting caller hears: the error, or that whoever wrote for it was interrupted."""
    if ticket is own or isinstance(error, RecollectError):
        return error
    return StorageUnavailable(
        "whoever wrote for this call was interrupted and the write may not have happened; "
        "try again with the same key"
    )
