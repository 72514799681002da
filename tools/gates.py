"""The numbers that keep the code readable: sizes, cycles, broad excepts, SQL, hidden imports.

Prints every violation as `file:line: what` and exits with 1 if there is any. What a linter or
import-linter can express is not repeated here.
"""

import ast
import re
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 600
PARAMETERS_MAX = 8

#: Files that may catch everything, each with its reason. Paths are below src/recollect.
BROAD_EXCEPTS: dict[str, str] = {
    "cli/__init__.py": "a person gets one line in place of a traceback, unless --debug is given",
    "client/runner.py": "an interrupt must cancel what runs on the loop, whatever it is",
    "lifecycle/reporting.py": "errors of any kind are told to listeners, who may fail in any way",
    "lifecycle/working.py": "a job that fails in any way is tried again, and stops no other",
    "models/chat/remote.py": "a provider's package raises anything at an answer that is garbage",
    "models/embedding/remote.py": "what the package for HTTP raises has no common root",
    "models/embedding/callable.py": "a function of the caller may fail in any way",
    "storage/sqlite/commit.py": "whatever ends a commit, its transaction is rolled back first",
    "storage/sqlite/store.py": "a connection in an unknown state is never given back to the pool",
    "storage/sqlite/upkeep.py": "whatever ends a migration, it is rolled back first",
}

#: Files that may import Recollect inside a function, each with its reason.
HIDDEN_IMPORTS: dict[str, str] = {
    "__init__.py": "the front door loads a room when it is first used",
    "wiring.py": "the composition root loads only the adapters that are asked for",
    "client/opening.py": "opening an embedded memory is what loads the engine",
    "cli/asking.py": "help and completion answer before the engine is loaded",
    "cli/costs.py": "what draws is loaded only to draw",
    "cli/chatting.py": "help and completion answer before the engine is loaded",
    "cli/bench.py": "help and completion answer before what measures is loaded",
}

#: Files that may be longer, each with its reason.
LONG_FILES: dict[str, int] = {
    # Every method of a memory with its documentation, which a reader wants on one page.
    "client/async_memory.py": 900,
}

#: Functions that may take more parameters, as `file:name`, each with its reason.
WIDE_SIGNATURES: dict[str, str] = {}

SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA)\s")
PRAGMA_FILE = "storage/sqlite/connection.py"

TYPES_ONLY = ("TYPE_CHECKING", "typing.TYPE_CHECKING")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Finding = tuple[Path, int, str]


def sizes(path: Path, name: str, tree: ast.Module) -> Iterator[Finding]:
    """Files, functions and signatures that are too long."""
    lines = len(path.read_text(encoding="utf-8").splitlines())
    most = LONG_FILES.get(name, FILE_LINES_MAX)
    if lines > most:
        yield path, 1, f"{lines} lines, over {most}"
    for node in ast.walk(tree):
        if not isinstance(node, Function):
            continue
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length > FUNCTION_LINES_MAX:
            yield path, node.lineno, f"{node.name}: {length} lines, over {FUNCTION_LINES_MAX}"
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        count = sum(argument.arg not in ("self", "cls") for argument in given)
        if count > PARAMETERS_MAX and f"{name}:{node.name}" not in WIDE_SIGNATURES:
            yield path, node.lineno, f"{node.name}: {count} parameters, over {PARAMETERS_MAX}"


def broad_excepts(path: Path, name: str, tree: ast.Module) -> Iterator[Finding]:
    """Handlers that would swallow a defect."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ExceptHandler) or name in BROAD_EXCEPTS:
            continue
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        names = {ast.unparse(kind) if kind else "everything" for kind in caught}
        for broad in sorted(names & {"Exception", "BaseException", "everything"}):
            yield path, node.lineno, f"catches {broad}, and is not on the list in tools/gates.py"


def sql_strings(path: Path, name: str, tree: ast.Module) -> Iterator[Finding]:
    """SQL that is written, or put together, outside a .sql file."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue
        found = SQL.match(node.value)
        if found and not (found[1] == "PRAGMA" and name == PRAGMA_FILE):
            yield path, node.lineno, f"{found[1]} in a string: SQL belongs in a .sql file"


def hidden_imports(path: Path, name: str, tree: ast.Module) -> Iterator[Finding]:
    """Imports of Recollect inside a function, where cycles hide."""
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    if name in HIDDEN_IMPORTS:
        return
    hidden = {node for function in functions for node in ast.walk(function)}
    for line, target in imports(path, name, tree, hidden):
        yield path, line, f"imports {target} inside a function"


def imports(
    path: Path, name: str, tree: ast.Module, only: set[ast.AST] | None = None
) -> Iterator[tuple[int, str]]:
    """Line and target of each import of Recollect that runs; `a.b` for `from a import b` too."""
    package = ["recollect", *Path(name).parent.parts]
    unused = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) in TYPES_ONLY
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if node in unused or (only is not None and node not in only):
            continue
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        targets = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *filter(None, [node.module])])
            targets = [f"{source}.{target}" for target in targets]
        for target in targets:
            if target.split(".")[0] == "recollect":
                yield node.lineno, target


def cycles(package: Path, trees: dict[Path, ast.Module]) -> Iterator[Finding]:
    """The first circle of modules that import each other, functions included."""
    modules = {module_name(package, path): path for path in trees}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        reached = {target for _, target in imports(path, key(package, path), trees[path])}
        found = {t if t in modules else t.rpartition(".")[0] for t in reached}
        graph[module] = {target for target in found if target in modules and target != module}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        names = list(reversed(circle.args[1]))
        yield modules[names[0]], 1, f"import cycle: {' -> '.join(names)}"


def key(package: Path, path: Path) -> str:
    """The path as the lists above name it."""
    return path.relative_to(package).as_posix()


def module_name(package: Path, path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = ("recollect", *path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def violations(package: Path) -> list[Finding]:
    """Everything wrong in one package folder, in the order of its files."""
    trees = {
        path: ast.parse(path.read_text(encoding="utf-8"), str(path))
        for path in sorted(package.rglob("*.py"))
    }
    gates = (sizes, broad_excepts, sql_strings, hidden_imports)
    found = [
        finding
        for path, tree in trees.items()
        for gate in gates
        for finding in gate(path, key(package, path), tree)
    ]
    return [*found, *cycles(package, trees)]


def main(package: Path = Path("src/recollect")) -> int:
    """Print what breaks a gate; the exit status says whether anything did."""
    found = violations(package)
    for path, line, what in found:
        print(f"{path}:{line}: {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
