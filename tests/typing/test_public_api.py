"""The types of the public API mean what they say, to both type checkers."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
USES, MISUSES = HERE / "uses.py", HERE / "misuses.py"
pytestmark = pytest.mark.slow


def complaints_of_mypy(tmp_path: Path, *files: Path) -> set[tuple[str, int]]:
    """Files and lines that mypy refuses, as a program that installed Recollect would see it."""
    options = ["--strict", "--no-error-summary", f"--cache-dir={tmp_path}"]
    command = [sys.executable, "-m", "mypy", *options, *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    found = re.findall(r"^(.+?):(\d+): error", done.stdout, re.MULTILINE)
    return {(Path(file).name, int(line)) for file, line in found}


def complaints_of_basedpyright(tmp_path: Path, *files: Path) -> set[tuple[str, int]]:
    """Files and lines that basedpyright refuses."""
    config = tmp_path / "pyrightconfig.json"
    settings = {
        "include": [str(file) for file in files],
        "extraPaths": [str(ROOT / "src")],
        "stubPath": str(ROOT / "typings"),
        "typeCheckingMode": "standard",
        "venvPath": str(Path(sys.prefix).parent),
        "venv": Path(sys.prefix).name,
    }
    config.write_text(json.dumps(settings), encoding="utf-8")
    command = [str(Path(sys.executable).parent / "basedpyright"), "--outputjson", "-p", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)["generalDiagnostics"]
    return {
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1)
        for one in told
        if one["severity"] == "error"
    }


CHECKERS = [complaints_of_mypy, complaints_of_basedpyright]


@pytest.mark.parametrize("checker", CHECKERS)
def test_right_uses_pass_and_every_misuse_is_found(checker: object, tmp_path: Path) -> None:
    assert callable(checker)
    lines = enumerate(MISUSES.read_text(encoding="utf-8").splitlines(), start=1)
    wrong = {(MISUSES.name, number) for number, line in lines if "# wrong" in line}
    assert wrong
    assert checker(tmp_path, USES, MISUSES) == wrong
