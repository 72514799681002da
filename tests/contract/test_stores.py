"""Every store fulfils the published contract."""

from pathlib import Path

import pytest

from recollect.client.runner import off_loop
from recollect.ports.store import Store
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import InMemoryStore
from recollect.testing.contract import StoreContract


class TestInMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return InMemoryStore()


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return SqliteStore(str(tmp_path / "memory.db"), durability="relaxed")


@pytest.mark.slow
class TestSqliteStoreAsAnEventLoopUsesIt(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return off_loop(SqliteStore(str(tmp_path / "memory.db"), durability="relaxed"))
