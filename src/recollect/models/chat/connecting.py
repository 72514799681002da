"""From clients to a chat."""

from collections.abc import Mapping, Sequence

from recollect.domain.clients import ModelClient
from recollect.models.chat.remote import RemoteChat
from recollect.models.chat.steady import SteadyChat
from recollect.models.steady import RETRIES, Pace
from recollect.ports.chat import Chat


def connect(
    clients: Sequence[ModelClient],
    *,
    environment: Mapping[str, str] | None = None,
    pace: Pace | None = None,
) -> Chat:
    """The first client's model, and those that answer in its place. Nothing is opened yet."""
    return SteadyChat(
        [RemoteChat(client, environment=environment) for client in clients],
        retries=[int(client.options.get("retries", RETRIES)) for client in clients],
        deadline_s=clients[0].options.get("deadline_s"),
        pace=pace,
    )
