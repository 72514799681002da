"""Policies: what the settings say about how memories live, and what follows from it."""

from pathlib import Path

import pytest

from recollect.domain.errors import SettingsError, ValidationError
from recollect.domain.policy import Policies, Policy, check
from recollect.domain.times import DAY
from recollect.settings import load
from recollect.testing import open_memory


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_strength_compounds_by_the_day_and_never_grows() -> None:
    policy = Policy()
    assert policy.strength(1.0, "short", 0, 2 * DAY) == pytest.approx(0.81)
    assert policy.strength(0.5, "medium", 0, DAY) == pytest.approx(0.475)
    assert policy.strength(1.0, "archived", 0, DAY) == policy.strength(1.0, "long", 0, DAY)
    assert policy.strength(0.5, "short", DAY, 0) == 0.5


def test_a_half_life_takes_the_place_of_the_tiers_rates() -> None:
    policy = Policy(half_life_days=3)
    for tier in ("short", "medium", "long"):
        assert policy.strength(1.0, tier, 0, 6 * DAY) == pytest.approx(0.25)


@pytest.mark.parametrize(("importance", "tier"), [(1.0, "short"), (0.5, "long"), (0.11, "medium")])
def test_the_moment_of_falling_below_a_limit_is_exact(importance: float, tier: str) -> None:
    policy = Policy()
    at = policy.falls_below(0.1, importance, tier, 0)
    assert at is not None
    assert policy.strength(importance, tier, 0, at) <= 0.1 + 1e-12
    assert policy.strength(importance, tier, 0, at - DAY // 1000) > 0.1


def test_what_is_weak_already_or_never_fades_is_said_so() -> None:
    assert Policy().falls_below(0.1, 0.05, "short", 7) == 7
    assert Policy(fade_long=0).falls_below(0.1, 0.5, "long", 0) is None
    assert Policy(archive_below=0).falls_below(0, 0.5, "long", 0) is None


def test_a_tenants_word_wins_over_everybodys_and_a_kinds_over_the_rest() -> None:
    policies = Policies(
        {
            "archive_days": 10.0,
            "kinds": {"fact": {"archive_days": 20.0, "fade_long": 0.0}},
            "tenants": {
                "acme": {"archive_days": 30.0, "kinds": {"episode": {"archive_days": 40.0}}}
            },
        }
    )
    days = {
        (tenant, kind): policies.of(tenant, kind).archive_days
        for tenant in ("local", "acme")
        for kind in ("general", "fact", "episode")
    }
    assert list(days.values()) == [10, 20, 10, 30, 30, 40]
    assert policies.of("acme", "fact").fade_long == 0.0
    assert {policy.archive_days for policy in policies.all("acme")} == {30, 40}


def test_settings_from_a_file_and_the_environment_make_one_policy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("recollect.toml").write_text(
        "fade_short = 0.2\nmedium_days = 3\n[kinds.episode]\nhalf_life_days = 2\n", encoding="utf-8"
    )
    monkeypatch.setenv("RECOLLECT_MEDIUM_DAYS", "5")
    usual = load().policies.of("local", "general")
    assert (usual.fade_short, usual.medium_days, usual.fade_long) == (0.2, 5, 0.01)
    assert load().policies.of("local", "episode").half_life_days == 2
    monkeypatch.setenv("RECOLLECT_KINDS", '{"fact": {"archive_below": 0}}')
    assert load().policies.of("local", "fact").archive_below == 0
    assert load().policies.of("local", "episode").half_life_days is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("fade_short", 1.5, "fade_short = 1.5 in x: it must be a number from 0 to 0.999"),
        ("fade_short", "much", "fade_short = 'much' in x: it must be a number"),
        ("fade_short", True, "it must be a number"),
        ("medium_uses", 1.5, "medium_uses = 1.5 in x: it must be a whole number"),
        ("kinds", "{", "kinds in x is not valid JSON"),
        ("kinds", "[]", "kinds in x must be a table"),
        ("kinds", {"fact": 3}, "kinds.fact in x must be a table"),
        ("kinds", {"fact": {"fade": 1}}, "unknown setting 'fade' of kinds.fact in x; known:"),
        ("kinds", {"fact": {"kinds": {}}}, "unknown setting 'kinds' of kinds.fact"),
        ("tenants", {"a": {"kinds": {"b": {"fade_long": 2}}}}, "fade_long = 2 in x, tenants.a, "),
    ],
)
def test_what_is_wrong_is_named(name: str, value: object, said: str) -> None:
    with pytest.raises(SettingsError) as failure:
        check(name, value, "x")
    assert said in str(failure.value)


def test_a_policy_that_is_given_on_opening_is_checked() -> None:
    with pytest.raises(ValidationError, match="unknown word of a policy 'fades'"):
        open_memory(policy={"fades": 1})
    with pytest.raises(ValidationError, match="policy must be a mapping"):
        open_memory(policy=[1])
    with pytest.raises(SettingsError, match="fade_short = 3 in an argument"):
        open_memory(policy={"fade_short": 3})
