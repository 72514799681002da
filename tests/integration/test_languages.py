"""A word is found in any script: written by itself, among code, and among its likes."""

from collections.abc import Iterator

import pytest

from recollect import Memory
from recollect.testing import HashEmbedder, open_memory

#: By language: what is remembered, each with a word to find it by.
FIXTURE = {
    "Chinese": [
        ("我下个月要搬到上海去工作。", "上海"),
        ("她对花生过敏，请不要放。", "花生"),
        ("会议改到星期四下午三点。", "星期四"),
        ("我的猫叫小黑，今年五岁。", "小黑"),
    ],
    "Japanese": [
        ("来週の火曜日に京都へ行きます。", "京都"),
        ("妹はピーナッツが食べられません。", "ピーナッツ"),
        ("新しいパソコンを買いました。", "パソコン"),
        ("犬の名前はハナです。", "ハナ"),
    ],
    "Korean": [
        ("다음 달에 부산으로 이사해요.", "부산"),
        ("저는 땅콩 알레르기가 있어요.", "땅콩"),
        ("회의는 목요일 오후로 바뀌었어요.", "목요일"),
    ],
    "Thai": [("เดือนหน้าฉันจะย้ายไปเชียงใหม่", "เชียงใหม่"), ("น้องสาวของฉันแพ้ถั่วลิสง", "ถั่วลิสง")],
    "Russian": [
        ("В марте я переехала в Казань.", "казань"),
        ("У моей сестры аллергия на орехи.", "аллергией"),
        ("Встречу перенесли на четверг.", "встреча"),
        ("Собаку зовут Шарик.", "собака"),
    ],
    "Greek": [("Τον Μάρτιο μετακόμισα στη Θεσσαλονίκη.", "θεσσαλονίκη")],
    "Arabic": [
        ("سأنتقل إلى الإسكندرية في الشهر القادم.", "الإسكندرية"),
        ("أختي عندها حساسية من الفول السوداني.", "حساسية"),
        ("اسم القطة لولو.", "القطة"),
    ],
    "Hebrew": [("בחודש הבא אני עוברת לחיפה.", "לחיפה"), ("לאחותי יש אלרגיה לבוטנים.", "אלרגיה")],
    "Hindi": [("अगले महीने मैं जयपुर जा रही हूँ।", "जयपुर"), ("मेरी बहन को मूँगफली से एलर्जी है।", "मूँगफली")],
    "with accents": [
        ("Señora Núñez vive en Málaga.", "malaga"),
        ("Łódź est loin de Besançon.", "besancon"),
        ("Ich wohne in der Königstraße.", "königstraße"),
    ],
    "code among words": [
        ("解析エラーは src/parser.py の parseTokens で起きます。", "parseTokens"),
        ("Ошибка E0308 в файле lib/core.rs.", "E0308"),
        ("تعطل الخادم مع ECONNRESET أمس.", "ECONNRESET"),
        ("用 C++ 重写了 fetch_all()。", "fetch_all"),
        ("バージョン 2.4.1-rc3 を使ってください。", "2.4.1-rc3"),
    ],
}
TEXTS = [text for pairs in FIXTURE.values() for text, _ in pairs]
CASES = [(language, *pair) for language, pairs in FIXTURE.items() for pair in pairs]


@pytest.fixture(scope="module", params=[None, HashEmbedder(2048)], ids=["words", "and meaning"])
def memory(request: pytest.FixtureRequest) -> Iterator[Memory]:
    with open_memory(embedder=request.param) as memory:
        with memory.session("talk") as chat:
            chat.add_many([{"role": "user", "text": text} for text in TEXTS])
        memory.remember_many([f"Another English sentence, number {n}." for n in range(40)])
        yield memory


@pytest.mark.parametrize(("language", "text", "word"), CASES)
def test_a_word_is_found_in_every_script(
    memory: Memory, language: str, text: str, word: str
) -> None:
    found = memory.recall(word)
    assert found.top is not None, language
    assert found.top.text == text
    assert found.top.why.shares["words"] > 0
