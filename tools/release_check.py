"""Builds the release, installs its wheel alone, and runs what a new user would run.

The wheel goes into an empty environment with nothing but its own dependencies; the README and the
tutorial run there, away from the source tree. Fails on the first thing that does not work.
"""

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DATA = (".sql", ".md", ".txt", ".json", ".typed")


def run(*command: str | Path, cwd: Path) -> None:
    """Run a command; its failure ends the check."""
    subprocess.run([str(part) for part in command], cwd=cwd, check=True)


def missing_from(wheel: Path) -> list[str]:
    """Files of the package that the wheel forgot."""
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.suffix in (".py", *DATA) and "__pycache__" not in path.parts
    }
    return sorted(wanted - set(zipfile.ZipFile(wheel).namelist()))


def main() -> int:
    """Build, install, run."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs/tutorial").glob("*.md"))]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        build = ("-m", "build", "--no-isolation", "--outdir", place / "dist", ROOT)
        print("-- build the source archive, and the wheel from it", flush=True)
        with (place / "build.log").open("w", encoding="utf-8") as log:
            built = subprocess.run(
                [sys.executable, *map(str, build)], stdout=log, stderr=log, check=False
            )
        if built.returncode:
            print((place / "build.log").read_text(encoding="utf-8"))
            return 1
        (wheel,) = (place / "dist").glob("*.whl")
        if missing := missing_from(wheel):
            print(f"{wheel.name} lacks {', '.join(missing)}")
            return 1
        print(f"-- install {wheel.name} alone", flush=True)
        venv.create(place / "env", with_pip=True)
        python = place / "env/bin/python"
        run(python, "-m", "pip", "install", "--quiet", wheel, cwd=place)
        print("-- run README and tutorial, and the command", flush=True)
        run(python, ROOT / "tools/run_page.py", *pages, cwd=place)
        run(place / "env/bin/recollect", "--help", cwd=place)
    print("release-check: the wheel works by itself")
    return 0


if __name__ == "__main__":
    sys.exit(main())
