"""`recollect context`: the text, what it is made of, and all of it as JSON."""

from tests.cli.conftest import Run


def test_a_context_is_told_as_text_as_bars_and_as_json(run: Run) -> None:
    run("remember", "I am allergic to peanuts.", "--kind", "fact")
    asked = ("context", "may I eat peanuts?", "--system", "You are a cook.", "--tokens-max", "400")
    text = run(*asked)
    assert (text.status, text.err) == (0, "")
    assert text.out.startswith("You are a cook.")
    assert text.out.rstrip().endswith("may I eat peanuts?")
    assert "I am allergic to peanuts." in text.out

    drawn = run(*asked, "--show").out
    for said in ("SECTION", "facts", "free", "#", "of 400 tokens", "1 memory recalled"):
        assert said in drawn

    told = run(*asked, "--json").json
    assert told["tokens"] == sum(told["sections"].values()) <= told["tokens_max"] == 400
    assert [piece["section"] for piece in told["messages"]] == ["system", "facts", "current"]
    assert told["memories"][0]["text"] == "I am allergic to peanuts."


def test_what_does_not_fit_is_named_and_a_budget_that_is_too_small_is_an_error(run: Run) -> None:
    run("remember", "peanuts " * 200, "--kind", "fact")
    assert "no room in the budget" in run("context", "peanuts?", "--tokens-max", "60", "--show").out
    told = run("context", "may I eat peanuts?", "--tokens-max", "3")
    assert told.status == 1
    assert "over tokens_max = 3" in told.err
