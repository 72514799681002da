"""Agents that share one memory: it belongs to the orchestrator, not to any of them.

>>> from recollect.agents import Orchestrator
>>> from recollect.testing import ScriptedChat
>>> crew = Orchestrator(buffer_memory=10)
>>> tutor = crew.create_agent("tutor", ScriptedChat("Hello."), "You teach Swedish.")
"""

from recollect.agents.buffer import BufferMemory
from recollect.agents.chatting import Reply
from recollect.agents.facade import Runtime, runtime
from recollect.agents.orchestrator import Agent, Orchestrator
from recollect.agents.sharing import Anonymous

__all__ = ["Agent", "Anonymous", "BufferMemory", "Orchestrator", "Reply", "Runtime", "runtime"]
