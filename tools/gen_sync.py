"""Write the synchronous face, `client/memory.py` and `client/handles.py`, from the async one.

Every public async method becomes one that runs it; every method that gives out an async handle
gives out the synchronous one. Signatures and docstrings are taken over. `--check` only compares.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).parent.parent / "src" / "recollect" / "client"
#: What is written from what.
FILES = {"handles.py": "async_handles.py", "memory.py": "async_memory.py"}
HEADER = '''"""{title}

Written by `tools/gen_sync.py` from `{source}`; change that one and run `make fix`.
"""

from __future__ import annotations

{imports}

from recollect.client.asking import AgentFields, ClientFields, Chosen, Filter, Packed, Which
from recollect.client.async_handles import {async_handles}
from recollect.client.async_memory import AsyncMemory
from recollect.client.handles import {handles}
from recollect.client.opening import open_backend
from recollect.client.runner import Inline, LoopThread, Runner
{domain}
'''
TITLES = {
    "memory.py": "`Memory`: everything that can be asked of a memory, without an event loop.",
    "handles.py": "Handles for parts of a memory: conversations, groups, profiles, items.",
}
OPEN = '''
    def __init__(self, inner: AsyncMemory, runner: Runner) -> None:
        self._inner = inner
        self._runner = runner

    @classmethod
    def open(cls, url: str | None = None, **options: Any) -> Self:
        """Open a memory; options as for `recollect.open`."""
        backend, scope = open_backend(url, threaded=False, **options)
        runner = Inline() if backend.inline else LoopThread()
        return cls(AsyncMemory(backend, scope), runner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Flush and release everything. Handles of this memory stop working."""
        self._runner.close(self._inner.close())
'''
HANDLE = """
    def __init__(self, inner: {name}, runner: Runner) -> None:
        self._inner = inner
        self._runner = runner
"""
ENTER = """
    def __enter__(self) -> Self:
        self._runner.run(self._inner.open())
        return self

    def __exit__(self, *_: object) -> None:
        return None
"""


def generated(target: str) -> str:
    """The text of one file of the synchronous face."""
    tree = ast.parse((CLIENT / FILES[target]).read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    standard = [n for n in imports if n.module in ("collections.abc", "typing")]
    domain = [
        n for n in imports if (n.module or "").startswith(("recollect.domain", "recollect.p"))
    ]
    handles = _class_names(CLIENT / FILES["handles.py"])
    head = HEADER.format(
        title=TITLES[target],
        source=FILES[target],
        imports="\n".join(map(ast.unparse, standard)),
        async_handles=", ".join(handles),
        handles=", ".join(map(_plain, handles)),
        domain="\n".join(map(ast.unparse, domain)),
    )
    if target == "handles.py":
        head = head.replace(
            f"from recollect.client.handles import {', '.join(map(_plain, handles))}\n", ""
        )
    return head + "".join(_class(node) for node in classes)


def _class_names(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef)]


def _class(node: ast.ClassDef) -> str:
    head = f'\n\nclass {_plain(node.name)}:\n    """{ast.get_docstring(node)}"""\n'
    body = OPEN if node.name == "AsyncMemory" else HANDLE.format(name=node.name)
    methods = [n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    if any(method.name == "__aenter__" for method in methods) and node.name != "AsyncMemory":
        body += ENTER
    for method in methods:
        if not method.name.startswith("_") and method.name != "close":
            if method.name == "open" and isinstance(method, ast.FunctionDef):
                continue
            body += _method(method)
    return head + body


def _method(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    returns = ast.unparse(node.returns) if node.returns else "None"
    call = f"self._inner.{node.name}({_passed(node.args)})"
    if isinstance(node, ast.AsyncFunctionDef):
        line = f"self._runner.run({call})"
    else:
        line = f"{_plain(returns)}({call}, self._runner)"
    keyword = "" if returns == "None" else "return "
    signature = f"def {node.name}({ast.unparse(node.args)}) -> {_plain(returns)}:"
    doc = ast.get_docstring(node, clean=False) or ""
    return f'\n    {signature}\n        """{doc}"""\n        {keyword}{line}\n'


def _passed(args: ast.arguments) -> str:
    parts = [arg.arg for arg in args.args[1:]]
    if args.vararg:
        parts.append(f"*{args.vararg.arg}")
    parts += [f"{arg.arg}={arg.arg}" for arg in args.kwonlyargs]
    if args.kwarg:
        parts.append(f"**{args.kwarg.arg}")
    return ", ".join(parts)


def _plain(name: str) -> str:
    return name.replace("Async", "")


def _formatted(text: str, target: Path) -> str:
    ruff = Path(sys.executable).parent / "ruff"
    for command in (["check", "--fix", "--quiet", "--select", "F401,I"], ["format", "--quiet"]):
        done = subprocess.run(
            [str(ruff), *command, "--stdin-filename", str(target), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        text = done.stdout
    return text


def main() -> int:
    """Write the files, or with `--check` say whether they are what they should be."""
    outdated: list[str] = []
    for name in FILES:
        target = CLIENT / name
        wanted = _formatted(generated(name), target)
        if target.exists() and target.read_text(encoding="utf-8") == wanted:
            continue
        if "--check" in sys.argv:
            outdated.append(name)
        else:
            target.write_text(wanted, encoding="utf-8")
    for name in outdated:
        print(f"client/{name} is out of date: run `make fix`")
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main())
