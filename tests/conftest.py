"""Marks that tie a test to what it proves; tools/acceptance.py prints the table."""

import os
import signal

import pytest

from tools.acceptance import items_to_prove

#: Memories that tests open, here or in processes of their own, search by words: the model is for
#: the tests that name it. What is set already, for one run, is kept.
os.environ.setdefault("RECOLLECT_EMBEDDER", "none")
#: Nothing runs beside a test that does not name it.
os.environ.setdefault("RECOLLECT_BACKGROUND", "off")

#: A shell that starts the tests in the background has them ignore interrupts, and every process
#: that they start; some tests interrupt themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)

PROOFS = ("acceptance", "promise")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Write each test's item numbers into its report, and refuse numbers that do not exist."""
    known = items_to_prove()
    for item in items:
        for mark in item.iter_markers():
            if mark.name not in PROOFS:
                continue
            for number in mark.args:
                if number not in known:
                    raise pytest.UsageError(f"{item.nodeid}: there is no item {number!r}")
                item.user_properties.append(("proves", [number, mark.kwargs.get("half")]))
