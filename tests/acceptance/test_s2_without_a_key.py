"""Acceptance S2: it works with no API key at all, and takes over the settings that were there."""

from pathlib import Path

import pytest

import recollect
from recollect.settings import load

KEYS = ("DEEPSEEK_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY")


@pytest.mark.acceptance("2.12")
@pytest.mark.parametrize("model", [None, "openai:gpt-4o-mini", "anthropic:claude-sonnet-4-5"])
def test_without_a_key_everything_works_with_summaries_by_rule_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str | None
) -> None:
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    with recollect.open(str(tmp_path / "memory.db"), embedder="auto", memory_model=model) as memory:
        ana = memory.scope(user="ana")
        ana.remember("I moved to Lisbon in March.")
        found = ana.recall("where does she live now? Lisbon?")
        assert found.top is not None
        with ana.session(id="s1") as chat:
            chat.add("user", "Tell me a long story. " + "Then the fox went on its way. " * 400)
            for number in range(30):
                chat.add("user", f"And what did the fox do on day {number}? " * 12)
                chat.add("assistant", f"On day {number} it went to the river. " * 12)
            context = chat.context(tokens_max=2000)
        assert context.tokens <= 2000
        assert "summary" in context.degraded
        assert memory.cost().total.calls == 0


@pytest.mark.acceptance("2.12", half="the flags that switch memory and routing are the agents'")
def test_the_variables_that_were_there_mean_what_ours_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "MAX_CONTEXT_TOKENS": "12000",
        "MAX_CONTEXT_TOKENS_CLAUDE": "140000",
        "CONTEXT_SUMMARIZATION_THRESHOLD": "0.8",
        "PRESERVE_RECENT_MESSAGES": "6",
    }.items():
        monkeypatch.setenv(name, value)
    found = load()
    assert (found.context_tokens, found.context_tokens_claude) == (12_000, 140_000)
    assert (found.context_threshold, found.context_recent) == (0.8, 6)
    monkeypatch.setenv("RECOLLECT_CONTEXT_RECENT", "9")
    assert load().context_recent == 9, "our own names win"
    monkeypatch.setenv("MAX_CONTEXT_TOKENS", "many")
    with pytest.raises(recollect.RecollectError, match="context_tokens"):
        load()
