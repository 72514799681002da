"""The contract of the store port, as tests. Every store passes them; so can yours. Needs pytest.

Subclass `StoreContract` in a test file and give it a fixture `store` that opens an empty store:

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self, tmp_path):
            return MyStore(tmp_path / "memory.db")

Each test gets a store of its own and closes it. Tests speak to the port alone, so a store that
passes behaves under Recollect as the others do. A store whose methods suspend says so with
`inline = False` and is driven by one background loop.
"""

import pytest

_PARTS = (
    "erasing",
    "events",
    "modelling",
    "reading",
    "relating",
    "repeating",
    "searching",
    "working",
    "writing",
)
for _part in _PARTS:
    pytest.register_assert_rewrite(f"{__name__}.{_part}")

from recollect.testing.contract.erasing import ErasingContract  # noqa: E402
from recollect.testing.contract.events import EventsContract  # noqa: E402
from recollect.testing.contract.modelling import ModellingContract  # noqa: E402
from recollect.testing.contract.reading import ReadingContract  # noqa: E402
from recollect.testing.contract.relating import RelatingContract  # noqa: E402
from recollect.testing.contract.repeating import RepeatingContract  # noqa: E402
from recollect.testing.contract.searching import SearchingContract  # noqa: E402
from recollect.testing.contract.workbench import Workbench  # noqa: E402
from recollect.testing.contract.working import WorkingContract  # noqa: E402
from recollect.testing.contract.writing import WritingContract  # noqa: E402

__all__ = ["StoreContract", "Workbench"]


class StoreContract(
    WritingContract,
    RelatingContract,
    RepeatingContract,
    ReadingContract,
    SearchingContract,
    EventsContract,
    ErasingContract,
    WorkingContract,
    ModellingContract,
):
    """Everything that a store must do. Override the fixture `store`."""
