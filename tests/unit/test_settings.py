"""Settings: where they come from, which source wins, and what is refused."""

import ast
import dataclasses
import functools
import importlib
import os
from pathlib import Path

import pytest

import recollect
from recollect.client.opening import CONDUCT
from recollect.domain.errors import MissingExtra, SettingsError
from recollect.settings import Settings, load

SOURCE = Path(recollect.__file__).parent


@pytest.fixture(autouse=True)
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder and an environment without settings."""
    for name in [name for name in os.environ if name.startswith("RECOLLECT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(**overrides: object) -> str:
    with pytest.raises(SettingsError) as caught:
        load(**overrides)
    return str(caught.value)


def test_without_any_source_the_defaults_hold() -> None:
    assert load() == Settings()


def test_each_later_source_wins_over_the_earlier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("recollect.toml").write_text(
        'url = "1"\nuser = "1"\napp = "1"\nlog_level = "info"\n', encoding="utf-8"
    )
    Path(".env").write_text(
        "RECOLLECT_USER=2\nRECOLLECT_APP=2\nRECOLLECT_LANGUAGE=french", encoding="utf-8"
    )
    monkeypatch.setenv("RECOLLECT_APP", "3")
    monkeypatch.setenv("RECOLLECT_LANGUAGE", "german")
    found = load(language="italian")
    assert (found.url, found.user, found.app) == ("1", "2", "3")
    assert (found.log_level, found.language) == ("info", "italian")


def test_an_argument_of_none_and_an_empty_variable_count_as_not_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RECOLLECT_USER", "")
    assert load(url=None, user=None) == Settings()


def test_dotenv_lines_may_be_quoted_exported_and_commented() -> None:
    lines = (
        "# a comment",
        "export RECOLLECT_USER='ana maria'",
        'RECOLLECT_URL="a b.db"',
        "RECOLLECT_APP=notes # why",
        "OTHER=ignored",
        "not a line",
    )
    Path(".env").write_text("\n".join(lines), encoding="utf-8")
    found = load()
    assert (found.user, found.url, found.app) == ("ana maria", "a b.db", "notes")


def test_numbers_come_as_text_from_the_environment_and_as_numbers_from_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("recollect.toml").write_text("list_limit = 7\n", encoding="utf-8")
    monkeypatch.setenv("RECOLLECT_RECALL_LIMIT", "8")
    assert (load().list_limit, load().recall_limit) == (7, 8)


def test_yaml_is_read_when_its_parser_is_there() -> None:
    Path("recollect.yaml").write_text("user: ana\nlist_limit: 7\n", encoding="utf-8")
    assert (load().user, load().list_limit) == ("ana", 7)


def test_yaml_without_its_parser_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("recollect.yaml").write_text("user: ana\n", encoding="utf-8")

    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match=r"recollect\[yaml\]"):
        load()


def test_a_file_may_be_named() -> None:
    Path("mine.toml").write_text('user = "ana"\n', encoding="utf-8")
    assert load("mine.toml").user == "ana"
    with pytest.raises(SettingsError, match=r"could not read the settings of other\.toml"):
        load("other.toml")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("recollect.toml", "user = ", "recollect.toml is not valid TOML"),
        ("recollect.toml", 'usr = "ana"', "unknown setting 'usr' in recollect.toml; did you mean"),
        ("recollect.toml", "user = 5", "user = 5 in recollect.toml: it must be a text"),
        ("recollect.toml", "list_limit = true", "list_limit = True in recollect.toml"),
        ("recollect.yaml", "user: [", "recollect.yaml is not valid YAML"),
        ("recollect.yaml", "- user", "recollect.yaml must hold names and values, not a list"),
        (".env", "RECOLLECT_DURABILTY=full", "did you mean 'durability'?"),
        (".env", "RECOLLECT_DURABILITY=half", "durability = 'half' in .env: it must be one of"),
    ],
)
def test_what_is_wrong_is_named_with_its_source(name: str, text: str, said: str) -> None:
    Path(name).write_text(text, encoding="utf-8")
    assert said in refusal()


def test_two_settings_files_are_refused() -> None:
    Path("recollect.toml").touch()
    Path("recollect.yaml").touch()
    assert "both a recollect.toml and a recollect.yaml" in refusal()


def test_a_settings_file_that_is_not_text_is_named() -> None:
    Path("recollect.toml").write_bytes(b"\xff")
    assert "recollect.toml is not UTF-8" in refusal()


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("language", "klingon", "english"),
        ("recall_limit", 0, "a whole number from 1 to 1000"),
        ("recall_limit", "ten", "a whole number from 1 to 1000"),
        ("log_format", "xml", "one of text, json"),
        ("context_threshold", 1.5, "a number from 0 to 1"),
        ("context_floor", "half", "a number from 0 to 1"),
        ("url", " ", "a text that is not empty"),
    ],
)
def test_a_bad_value_says_key_value_source_and_what_would_be_right(
    name: str, value: object, wanted: str
) -> None:
    said = refusal(**{name: value})
    assert said.startswith(f"{name} = {value!r} in an argument: it must be ")
    assert wanted in said


def test_a_bad_variable_of_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_LIST_LIMIT", "1001")
    assert "list_limit = '1001' in the environment" in refusal()


@pytest.mark.parametrize("field", dataclasses.fields(Settings), ids=lambda field: field.name)
def test_every_setting_is_explained_and_read_somewhere(field: "dataclasses.Field[object]") -> None:
    assert field.metadata["help"]
    assert field.name in settings_read()


@functools.cache
def settings_read() -> set[str]:
    """Every attribute that the program takes from something called `settings`.

    What says how the engine behaves is taken over as a whole; `client/opening.py`.
    """
    read: set[str] = set(CONDUCT)
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Attribute):
                continue
            owner = node.value
            if ast.unparse(owner).rpartition(".")[2] == "settings":
                read.add(node.attr)
    return read


def test_opening_takes_from_settings_what_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_URL", "named.db")
    monkeypatch.setenv("RECOLLECT_USER", "ana")
    monkeypatch.setenv("RECOLLECT_APP", "notes")
    monkeypatch.setenv("RECOLLECT_DURABILITY", "relaxed")
    with recollect.open() as memory:
        told = memory.remember("tea")
        assert (told.memory.user, told.memory.place.app) == ("ana", "notes")
        assert told.durability == "relaxed"
    assert Path("named.db").exists()


def test_what_is_said_on_opening_wins_over_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_URL", "named.db")
    monkeypatch.setenv("RECOLLECT_LANGUAGE", "german")
    with recollect.open("said.db", user="bob", language="english", durability="full") as memory:
        told = memory.remember("He was painting.")
        assert (told.memory.user, told.durability) == ("bob", "full")
        assert memory.recall("paints").top is not None
    assert not Path("named.db").exists()


def test_the_language_of_the_settings_stems_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_LANGUAGE", "german")
    with recollect.open("d.db") as memory:
        memory.remember("Sie mag große Häuser.")
        assert memory.recall("Haus").top is not None


def test_a_bad_setting_stops_the_opening_before_a_file_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RECOLLECT_DURABILITY", "maybe")
    with pytest.raises(SettingsError, match="durability = 'maybe' in the environment"):
        recollect.open()
    assert not list(Path().iterdir())
