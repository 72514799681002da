"""Items: short notes about a person with a key, a status of their own and a priority.

An item is a memory whose kind is its category. Each category knows which statuses its items go
through; categories that nobody declared have two.
"""

from dataclasses import dataclass

from recollect.domain.errors import ValidationError, shown
from recollect.domain.scopes import check_name


@dataclass(frozen=True, slots=True)
class Category:
    """The statuses of a category's items, the first of them the default, and a default priority.

    `shown` is what a listing shows unless asked for something else; None means every status.
    """

    stages: tuple[str, ...]
    priority: int | None = None
    shown: tuple[str, ...] | None = None


CATEGORIES = {
    "personal_info": Category(("active", "correction", "outdated"), shown=("active",)),
    "area_to_improve": Category(("struggling", "improving", "mastered"), priority=9),
    "knowledge_strength": Category(("active", "archived")),
}
_PLURALS = {"areas_to_improve": "area_to_improve", "knowledge_strengths": "knowledge_strength"}
_OTHER = Category(("active", "archived"))


def category(name: str) -> tuple[str, Category]:
    """A category by its name or plural, in the form that its items carry as their kind."""
    check_name(name, field="category")
    singular = _PLURALS.get(name, name)
    return singular, CATEGORIES.get(singular, _OTHER)


def check_stage(name: str, stage: str) -> str:
    """A status that items of this category can have."""
    singular, known = category(name)
    if stage not in known.stages:
        raise ValidationError(
            f"the status of a {singular} is one of {', '.join(known.stages)}, not {shown(stage)}",
            field="status",
        )
    return stage
