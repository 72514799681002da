"""Opening: from a URL to a backend and the scope that its first handle has."""

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from recollect.client.files import checked_path
from recollect.client.runner import LoopThread, off_loop
from recollect.domain.conduct import Conduct
from recollect.domain.context import Rules
from recollect.domain.errors import ValidationError, shown
from recollect.domain.policy import RULES, TABLES
from recollect.domain.scopes import Scope

if TYPE_CHECKING:
    from recollect.ports.backend import Backend
    from recollect.settings import Settings

#: Options that are settings too: those that say how the engine behaves, and some more.
CONDUCT = tuple(field.name for field in fields(Conduct) if field.name != "context")
SAID = ("durability", "user", "app", "embedder_url", "embedder_key_env", *CONDUCT)


def open_backend(url: object, *, threaded: bool, **options: Any) -> "tuple[Backend, Scope]":
    """A backend for a file, loaded only now, and the scope that its first handle has.

    What is not said comes from the settings, which are looked for only now as well.
    """
    if url is not None and not (isinstance(url, str) and url.strip()):
        raise ValidationError(
            f"the path or URL of the memory is missing: {shown(url)}", field="url"
        )
    if url is not None:
        checked_path(url)
    from recollect import wiring
    from recollect.settings import load

    said = {name: options.pop(name, None) for name in SAID}
    embedder = options.pop("embedder", None)
    named = embedder is None or isinstance(embedder, str)
    memory_model = options.pop("memory_model", None)
    policy = checked_policy(options.pop("policy", None))
    settings = load(url=url, **said, embedder=embedder if named else None, **policy)
    models = wiring.Models(
        embedder=settings.embedder if named else embedder,
        embedder_url=settings.embedder_url,
        embedder_key_env=settings.embedder_key_env,
        memory_model=settings.memory_model if memory_model is None else memory_model,
        reasoning_model=options.pop("reasoning_model", None),
        prices=options.pop("prices", None),
        beside=LoopThread,
    )
    engine = wiring.open_engine(
        settings.url,
        around=off_loop if threaded else None,
        durability=settings.durability,
        conduct=Conduct(
            **{name: getattr(settings, name) for name in CONDUCT}, context=_rules(settings)
        ),
        models=models,
        **options,
    )
    return engine, Scope().narrowed(user=settings.user, app=settings.app)


def checked_policy(policy: object) -> dict[str, Any]:
    """What an argument says about how memories live, by the names that the settings have."""
    if policy is None:
        return {}
    if not isinstance(policy, Mapping):
        raise ValidationError(f"policy must be a mapping, not {shown(policy)}", field="policy")
    known = (*RULES, *TABLES)
    for name in policy:
        if name not in known:
            raise ValidationError(
                f"unknown word of a policy {shown(name)}; known: {', '.join(known)}", field="policy"
            )
    return dict(policy)


def _rules(settings: "Settings") -> Rules:
    """How contexts are made."""
    return Rules(
        model=settings.reasoning_model,
        tokens=settings.context_tokens,
        tokens_claude=settings.context_tokens_claude,
        threshold=settings.context_threshold,
        recent=settings.context_recent,
        every=settings.context_every,
        summary_tokens=settings.context_summary_tokens,
        reference_tokens=settings.context_reference_tokens,
        limit=settings.context_limit,
        facts=settings.context_facts,
        floor=settings.context_floor,
    )
