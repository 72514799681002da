"""Made-up secrets and personal data in sentences, and sentences that only look like it. Seeded."""

import random
import string
from collections.abc import Callable, Iterator

from recollect.guarding import checks

_LETTERS = string.ascii_letters + string.digits
Draw = random.Random


def _some(chance: Draw, alphabet: str, length: int) -> str:
    return "".join(chance.choice(alphabet) for _ in range(length))


def _mixed(chance: Draw, length: int) -> str:
    """Letters of both cases and digits, all three for sure."""
    made = list("aZ7" + _some(chance, _LETTERS, length - 3))
    chance.shuffle(made)
    return "".join(made)


def _fitting(chance: Draw, make: Callable[[Draw], str], check: Callable[[str], bool]) -> str:
    while True:
        made = make(chance)
        if check(made):
            return made


def _card(chance: Draw) -> str:
    plain = chance.choice("3456") + _some(chance, string.digits, 15)
    return chance.choice(["", " ", "-"]).join(plain[i : i + 4] for i in range(0, 16, 4))


def _iban(chance: Draw) -> str:
    country, length = chance.choice([("DE", 22), ("ES", 24), ("NL", 18), ("GB", 22)])
    body = "ABNA" if country in ("NL", "GB") else ""
    made = country + _some(chance, string.digits, 2) + body
    return made + _some(chance, string.digits, length - len(made))


def _cpf(chance: Draw) -> str:
    d = _some(chance, string.digits, 11)
    return f"{d[:3]}.{d[3:6]}.{d[6:9]}-{d[9:]}"


SECRETS: dict[str, Callable[[Draw], str]] = {
    "AWS": lambda c: "AKIA" + _some(c, string.ascii_uppercase + "234567", 16),
    "GitHub": lambda c: "ghp_" + _some(c, _LETTERS, 36),
    "model": lambda c: c.choice(["sk-", "sk-ant-", "sk-proj-"]) + _mixed(c, 40),
    "payment": lambda c: "sk_live_" + _some(c, _LETTERS, 24),
    "Slack": lambda c: f"xoxb-{_some(c, string.digits, 12)}-{_some(c, _LETTERS, 24)}",
    "Google": lambda c: "AIza" + _some(c, _LETTERS + "-_", 35),
    "JWT": lambda c: ".".join(["eyJ" + _mixed(c, 30), _mixed(c, 60), _mixed(c, 43)]),
    "URL": lambda c: f"postgres://app:{_mixed(c, 12)}@db.example.com:5432/app",
    "password": lambda c: f"my password is {_mixed(c, 10)}",
    "assigned": lambda c: f"{c.choice(['API_KEY', 'client_secret', 'token'])}={_mixed(c, 24)}",
    "PIN": lambda c: f"the PIN is {_some(c, string.digits, 4)}",
    "private": lambda c: (
        f"-----BEGIN RSA PRIVATE KEY-----\n{_mixed(c, 64)}\n-----END RSA PRIVATE KEY-----"
    ),
    "bearer": lambda c: f"Authorization: Bearer {_mixed(c, 32)}",
    "random": lambda c: _mixed(c, 44),
}
PERSONAL: dict[str, tuple[str, Callable[[Draw], str]]] = {
    "card": ("card_numbers", lambda c: _fitting(c, _card, checks.card)),
    "IBAN": ("bank_accounts", lambda c: _fitting(c, _iban, checks.iban)),
    "SSN": (
        "national_ids",
        lambda c: f"{c.randint(101, 665)}-{c.randint(10, 99)}-{c.randint(1000, 9999)}",
    ),
    "DNI": (
        "national_ids",
        lambda c: _fitting(
            c,
            lambda d: _some(d, string.digits, 8) + d.choice(string.ascii_uppercase),
            lambda text: text[-1] in "TRWAGMYFPDXBNJZSQVHLCKE" and checks.dni(text),
        ),
    ),
    "CPF": ("national_ids", lambda c: _fitting(c, _cpf, checks.cpf)),
    "mail": ("emails", lambda c: f"{_some(c, string.ascii_lowercase, 7)}@example.org"),
    "phone": (
        "phones",
        lambda c: (
            f"+{c.choice(['44', '1', '351'])} {c.randint(200, 999)} {c.randint(100, 999)} "
            f"{c.randint(1000, 9999)}"
        ),
    ),
}
FRAMES = (
    "Please note: {}",
    "{}",
    "For the deployment we use {} until Friday.",
    "Ana wrote: {} (it is new)",
    "Here it is:\n{}\nThanks!",
)
_BENIGN = (
    "The meeting moved to {d2}:30 on 2026-0{d1}-1{d1}, room {d3}.",
    "Order {d4}-{d3} shipped, {d2} boxes at {d2}.{d2} EUR each.",
    "Commit {hex40} fixes the parser.",
    "The build {uuid} failed after {d4} seconds.",
    "We keep {d4},{d3} rows and {d3},{d3} events in version 1.{d2}.{d1}.",
    "The password policy is strict: at least {d2} characters.",
    "My favourite key on the piano is C minor, and the secret is patience.",
    "The token bucket holds {d3} tokens; keys are hashed.",
    "See https://example.com/docs/{d4}/index.html#section-{d2} for details.",
    "Call me tomorrow about flight LH{d3}, seat {d2}A.",
    "The ISBN is 978-3-16-14841{d1}-{d1}.",
    "src/app/handlers/user_{d2}.py line {d3} raises KeyError for '{w}'.",
    "Latitude 38.{d4}{d2}, longitude -9.{d4}{d2}, altitude {d3} m.",
    "I don't remember where I parked; was it level {d1}?",
    "Please keep {d1} apples and {d2} pears for {w}.",
    "The digest is sha256:{hex64}.",
    "Pin the version to {d1}.{d2}.{d1} in requirements.",
    "Population was {d3} {d3} {d3} in 19{d2}, GDP {d4} billion.",
    "My sister {w} sings; she said: never give up.",
    "Train ICE {d3} leaves at 0{d1}:{d2}, platform {d1}, coach {d2}.",
)


def benign(count: int) -> Iterator[str]:
    """Sentences without anything that must not be stored."""
    chance = random.Random(5)
    for number in range(count):
        yield _BENIGN[number % len(_BENIGN)].format(
            d1=chance.randint(1, 9),
            d2=chance.randint(10, 59),
            d3=chance.randint(100, 999),
            d4=chance.randint(1000, 9999),
            w=_some(chance, string.ascii_lowercase, 6),
            hex40=_some(chance, "0123456789abcdef", 40),
            hex64=_some(chance, "0123456789abcdef", 64),
            uuid="-".join(_some(chance, "0123456789abcdef", n) for n in (8, 4, 4, 4, 12)),
        )


def secrets(count: int) -> Iterator[tuple[str, str]]:
    """Kinds of secrets, each in a sentence."""
    chance = random.Random(6)
    kinds = list(SECRETS)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        yield kind, FRAMES[number % len(FRAMES)].format(SECRETS[kind](chance))


def personal(count: int) -> Iterator[tuple[str, str, str]]:
    """Classes of personal data and their kinds, each in a sentence."""
    chance = random.Random(7)
    kinds = list(PERSONAL)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        what, make = PERSONAL[kind]
        yield what, kind, FRAMES[number % len(FRAMES)].format(make(chance))
