"""What a type checker has to refuse, one mistake per marked line; nothing here is run."""

from recollect import AsyncMemory, Memory


def sync_face(memory: Memory) -> None:
    memory.remember(7)  # wrong
    memory.remember("tea", importance="high")  # wrong
    memory.remember("tea", colour="green")  # wrong
    memory.recall("tea", 5)  # wrong
    memory.forgot("tea")  # wrong
    memory.session().add("user")  # wrong
    memory.recall("tea").top.text  # wrong  # noqa: B018


async def async_face(memory: AsyncMemory) -> None:
    memory.remember("tea").id  # wrong  # noqa: B018
    await memory.recall(None)  # wrong
