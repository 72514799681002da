"""2.1: code goes to the code model, reasoning to the reasoning model, mixed requests by a rule."""

import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from recollect.domain.errors import ValidationError
from recollect.routing import Decision, Router
from recollect.routing.router import CHARS_READ, evidence

pytestmark = pytest.mark.acceptance("2.1")

ROUTER = Router(code="deepseek:deepseek-chat", reasoning="anthropic:claude-sonnet-4-5")
LABELLED = [
    line.split(maxsplit=2)
    for line in Path(__file__).with_name("requests.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
GUIDE_CODE = [
    "Create a todo app",
    "Write a function to sort a list",
    "Fix the bug in auth.py",
    "Add tests for the parser",
]
GUIDE_REASONING = [
    "Explain how this architecture works",
    "Why does this fail?",
    "Compare two designs",
    "Review my approach",
    "What are the trade-offs?",
]
MIXED = [
    "Show me how to create a login page in Vue",
    "How do I read a CSV file in pandas?",
    "Write a script and explain each line",
]


def kind(request: str) -> str:
    return ROUTER.route(request).kind


@pytest.mark.parametrize("request_", GUIDE_CODE)
def test_the_guides_code_examples_go_to_the_code_model(request_: str) -> None:
    decision = ROUTER.route(request_)
    assert (decision.provider, decision.model) == ("deepseek", "deepseek-chat")
    assert decision.confidence >= 0.7
    assert not decision.mixed


@pytest.mark.parametrize("request_", GUIDE_REASONING)
def test_the_guides_reasoning_examples_go_to_the_reasoning_model(request_: str) -> None:
    decision = ROUTER.route(request_)
    assert (decision.provider, decision.model) == ("anthropic", "claude-sonnet-4-5")
    assert decision.confidence >= 0.7
    assert not decision.mixed


def test_explaining_what_was_created_is_reasoning() -> None:
    assert kind("please explain the function you created") == "reasoning"


@pytest.mark.parametrize("request_", MIXED)
def test_a_mixed_request_goes_to_the_heavier_side_and_says_that_it_is_unsure(request_: str) -> None:
    decision = ROUTER.route(request_)
    sums = {
        side: sum(one.weight for one in decision.evidence if one.speaks_for == side)
        for side in ("code", "reasoning")
    }
    assert decision.mixed
    assert decision.confidence < 0.7
    assert decision.kind == max(sums, key=lambda side: sums[side])
    assert "against it" in decision.reason


def test_what_a_request_is_about_does_not_make_it_mixed() -> None:
    decision = ROUTER.route("Explain the bug in auth.py")
    assert (decision.kind, decision.mixed) == ("reasoning", False)
    assert "against it: speaks of code ('bug')" in decision.reason


def test_every_mixed_request_is_below_seven_tenths_whatever_its_weights() -> None:
    decisions = [ROUTER.route(f"{one}. {two}") for _, _, one in LABELLED for two in GUIDE_REASONING]
    mixed = [decision for decision in decisions if decision.mixed]
    assert len(mixed) > 100
    assert max(decision.confidence for decision in mixed) < 0.7


@pytest.mark.parametrize(
    "word", ["happened", "address", "profile", "preface", "classify", "whatever"]
)
def test_a_word_inside_another_word_counts_nothing(word: str) -> None:
    assert evidence(word) == evidence(f"the {word} of it") == ()


def test_a_tie_and_a_request_that_says_nothing_go_to_the_reasoning_model() -> None:
    for request in ("yes please", "", "the tests"):
        decision = ROUTER.route(request)
        assert (decision.kind, decision.confidence) == ("reasoning", 0.5)
        assert decision.reason.startswith("too little in it asks for code")


def test_a_request_that_says_nothing_goes_where_the_earlier_one_went() -> None:
    earlier = ["Why does this fail?", "Fix the bug in auth.py", "thanks"]
    decision = ROUTER.route("yes, do that", earlier=earlier)
    assert decision.kind == "code"
    assert decision.reason.startswith("an earlier request ")
    assert decision.confidence < ROUTER.route(earlier[1]).confidence
    assert ROUTER.route("Why?", earlier=earlier).kind == "reasoning"


def test_the_override_wins_and_the_decision_says_everything() -> None:
    decision = ROUTER.route("Create a todo app", model="openai:gpt-5-mini")
    assert decision == Decision("openai", "gpt-5-mini", "chosen", "the caller chose it", 1.0)
    assert decision.name == "openai:gpt-5-mini"
    routed = ROUTER.route("Create a todo app")
    assert routed.provider
    assert routed.model
    assert "asks to make or change something ('Create')" in routed.reason
    assert 0.5 <= routed.confidence <= 1


@pytest.mark.parametrize("name", ["gpt-5", "", ":x", "openai:", None])
def test_a_model_without_its_provider_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="provider:model"):
        Router(code=name, reasoning="a:b")


def test_a_long_request_is_judged_by_its_beginning() -> None:
    log = "Traceback (most recent call last)\n" * 100_000
    assert kind(f"Why does this fail?\n{log}") == "reasoning"
    assert evidence(" " * CHARS_READ + "Fix the bug in auth.py") == ()


@pytest.mark.parametrize(("part", "least"), [("seen", 0.95), ("unseen", 0.95)])
def test_labelled_requests_are_routed_as_labelled(
    part: str, least: float, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(label, text) for label, found, text in LABELLED if found == part]
    wrong = [f"{label}: {text}" for label, text in rows if kind(text) != label]
    accuracy = 1 - len(wrong) / len(rows)
    with capsys.disabled():
        print(f" {part}: {len(rows) - len(wrong)} of {len(rows)} right, {accuracy:.1%}", end=" ")
    assert accuracy >= least, wrong


def test_the_labelled_set_is_large_and_balanced_and_nothing_is_in_it_twice() -> None:
    assert len({text for *_, text in LABELLED}) == len(LABELLED) >= 150
    labels = [label for label, *_ in LABELLED]
    assert abs(labels.count("code") - labels.count("reasoning")) <= 10


def test_every_feature_of_the_data_file_is_found_in_some_request() -> None:
    data = files("recollect.routing").joinpath("features.toml").read_text(encoding="utf-8")
    names = {feature["name"] for feature in tomllib.loads(data)["feature"]}
    found = {one.feature for *_, text in LABELLED for one in evidence(text)}
    assert names == found


def test_no_pattern_of_the_data_file_takes_long_on_hostile_text() -> None:
    for text in ("a" * CHARS_READ, "please " * 600, "a_" * 2000, "write a " * 500, "./" * 2000):
        assert len(evidence(text)) < 10
