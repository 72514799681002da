"""What tests of programs that use Recollect need: no file, no network, no chance, no real time.

`open_memory()` is a whole `Memory` in dictionaries whose ids and times are the same in every run.
The contract that every store fulfils is in `recollect.testing.contract`, which needs pytest.
"""

from recollect.storage.memory.store import InMemoryStore
from recollect.testing.chat import ScriptedChat
from recollect.testing.opening import open_async_memory, open_memory
from recollect.testing.provider import Fault, ScriptedProvider
from recollect.testing.world import FrozenClock, HashEmbedder, SeededEntropy

__all__ = [
    "Fault",
    "FrozenClock",
    "HashEmbedder",
    "InMemoryStore",
    "ScriptedChat",
    "ScriptedProvider",
    "SeededEntropy",
    "open_async_memory",
    "open_memory",
]
