"""What was measured, as data: means per category, costs, and every question's own scores.

The data is what `--json` writes and `--compare` reads; tables and pictures are made from it.
"""

import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import apsw

import recollect
from recollect.domain.errors import ValidationError
from recollect.domain.records import JsonObject, compact
from recollect.measuring import metrics
from recollect.measuring.running import BOTH, LIMIT, MEANING, WORDS, Answer, LaneRun, SetRun
from recollect.ports.embedder import Embedder
from recollect.settings import Settings

FORMAT = 1  #: of the data; a report of another format is not compared
SETTINGS = ("language", "durability")  #: the settings that may change what is measured
PACKAGES = ("apsw", "numpy", "PyStemmer", "onnxruntime")


def report(conditions: JsonObject, sets: Sequence[SetRun]) -> JsonObject:
    """Everything that was measured, and under which conditions."""
    return {"format": FORMAT, "conditions": conditions, "sets": [_set(one) for one in sets]}


def conditions(settings: Settings, embedder: Embedder | None) -> JsonObject:
    """What the numbers depend on: one configuration for all sets, the program, the machine."""
    chosen = {name: asdict(settings)[name] for name in SETTINGS}
    configuration = {**chosen, "embedder": embedder.space if embedder else None, "limit": LIMIT}
    return {
        "configuration": configuration,
        "configuration hash": _hashed([compact(configuration).encode()]),
        "recollect": recollect.__version__,
        "source hash": _hashed(_source()),
        "Python": platform.python_version(),
        "SQLite": apsw.sqlite_lib_version(),
        **dict(_versions()),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }


def _versions() -> Iterator[tuple[str, str]]:
    for name in PACKAGES:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue


def _source() -> Iterator[bytes]:
    """The program's own files: between releases the version does not say which program it was."""
    package = Path(recollect.__file__).parent
    for file in sorted([*package.rglob("*.py"), *package.rglob("*.sql")]):
        yield file.relative_to(package).as_posix().encode()
        yield file.read_bytes()


def _hashed(parts: Sequence[bytes] | Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:12]


# -- one set ---------------------------------------------------------------------------------------


def _set(run: SetRun) -> JsonObject:
    cases = run.data.cases
    return {
        "name": run.data.name,
        "conversations": len({case.conversation for case in cases}),
        "questions": len(cases),
        "counted": sum(case.counts for case in cases),
        "without evidence": sum(not case.evidence for case in cases),
        "turns": run.turns,
        "ingest": _ingest(run),
        "peak MiB": None if run.peak_bytes is None else round(run.peak_bytes / 2**20, 1),
        "lanes": {name: _lane(lane) for name, lane in run.lanes.items()},
        "ablations": {name: _ablation(run, lane) for name, lane in run.ablations.items()},
    }


def _ablation(run: SetRun, without: LaneRun) -> JsonObject:
    """How well it recalls without a feature, and how far that is from all features together."""
    whole = run.lanes.get(BOTH) or run.lanes[WORDS]
    names = sorted({answer.case.category for answer in without.answers if answer.scores})
    return {
        "overall": _change(whole, without, None),
        "categories": {name: _change(whole, without, name) for name in names},
    }


def _change(whole: LaneRun, without: LaneRun, category: str | None) -> JsonObject:
    """For each metric the mean, how far it is from the whole, and the error of that."""
    before, after = (
        {
            one.case.id: one.scores
            for one in lane.answers
            if one.scores
            and (one.case.counts if category is None else one.case.category == category)
        }
        for lane in (whole, without)
    )
    told: JsonObject = {"n": len(after)}
    for metric in metrics.METRICS if after else ():
        old, new = ({id: scores[metric] for id, scores in one.items()} for one in (before, after))
        found = metrics.difference(old, new)
        told[metric] = [
            _exact(sum(new.values()) / len(new)),
            _exact(found.mean),
            _exact(found.error),
        ]
    return told


def _ingest(run: SetRun) -> JsonObject:
    """How fast turns were stored, and how much of that time the embedder took."""
    told: JsonObject = {"seconds": _exact(run.ingest_s), "turns/s": _rate(run.turns, run.ingest_s)}
    if run.embedded:
        told["texts embedded"] = run.embedded
        told["embedder texts/s"] = _rate(run.embedded, run.embedding_s)
        told["embedder share"] = _exact(run.embedding_s / run.ingest_s)
    return told


def _lane(run: LaneRun) -> JsonObject:
    scored = [answer for answer in run.answers if answer.scores]
    main = [answer for answer in scored if answer.case.counts]
    names = sorted({answer.case.category for answer in scored})
    inside = {name: [one for one in scored if one.case.category == name] for name in names}
    return {
        "took part": sorted(run.took_part),
        "degraded": run.degraded,
        "overall": _row(main),
        "categories": {name: _row(answers) for name, answers in inside.items()},
        "folds": {name: _fold(main, name) for name in metrics.METRICS},
        "cost": _cost(run),
        "answers": [_answered(answer) for answer in run.answers],
    }


def _row(answers: Sequence[Answer]) -> JsonObject:
    means = metrics.means([answer.scores for answer in answers])
    return {"n": len(answers), **{name: _exact(value) for name, value in means.items()}}


def _fold(answers: Sequence[Answer], name: str) -> JsonObject | None:
    values: dict[str, list[float]] = {}
    for answer in answers:
        values.setdefault(answer.case.conversation, []).append(answer.scores[name])
    found = metrics.folds(values)
    if found is None:
        return None
    return {
        "mean": _exact(found.mean),
        "spread": _exact(found.spread),
        "without": {one: _exact(mean) for one, mean in found.means.items()},
    }


def _cost(run: LaneRun) -> JsonObject | None:
    """What recalls took; None for a lane that is only seen in the shares of a wider recall."""
    if run.lane == MEANING:
        return None
    wall = [1e3 * answer.wall_s for answer in run.answers]
    cpu = [1e3 * answer.cpu_s for answer in run.answers]
    first = [1e3 * one for one in run.first_s]
    words = [answer.words for answer in run.answers]
    return {
        "p50 ms": _exact(metrics.quantile(wall, 0.5)),
        "p95 ms": _exact(metrics.quantile(wall, 0.95)),
        "CPU p50 ms": _exact(metrics.quantile(cpu, 0.5)),
        "CPU p95 ms": _exact(metrics.quantile(cpu, 0.95)),
        "first p50 ms": _exact(metrics.quantile(first, 0.5)),
        "words": _exact(metrics.quantile(words, 0.5)),
    }


def _answered(answer: Answer) -> JsonObject:
    return {
        "id": answer.case.id,
        "conversation": answer.case.conversation,
        "category": answer.case.category,
        "counts": answer.case.counts,
        "ranks": dict(answer.ranks),
        "scores": {name: _exact(value) for name, value in answer.scores.items()},
    }


def _exact(number: float) -> float:
    """Enough digits for everything that is shown or compared."""
    return round(number, 5)


def _rate(count: int, seconds: float) -> float | None:
    return round(count / seconds, 1) if seconds else None


# -- files -----------------------------------------------------------------------------------------


def as_json(data: JsonObject) -> str:
    """The data for a file."""
    text = json.dumps(data, ensure_ascii=False, indent=1)
    return f"{text}\n"


def from_json(path: Path) -> JsonObject:
    """The data of a former run."""
    try:
        found = json.loads(path.read_bytes())
    except OSError as exc:
        raise ValidationError(f"could not read {path}: {exc.strerror}") from exc
    except ValueError as exc:
        raise ValidationError(f"{path} is not JSON: {exc}") from exc
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValidationError(f"{path} was not written by this version of `recollect bench --json`")
    return found  # pyright: ignore[reportUnknownVariableType]
