"""Environments in which nothing of the project is installed but chosen wheels, made offline."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_SECONDS = 600
_SITE_FOLDERS = ("site-packages", "dist-packages")


def build_wheels(projects: Iterable[Path], folder: Path) -> list[Path]:
    """Wheels of projects, built without network by the build backend that is installed here."""
    before = set(folder.glob("*.whl"))
    _call([sys.executable, "-m", "pip", "wheel", *_OFFLINE, "--wheel-dir", str(folder), *map(str, projects)])
    return sorted(set(folder.glob("*.whl")) - before)


class WheelEnvironment:
    """A virtual environment with the third-party packages of the running one and none of its first-party ones.

    Editable installs of the checkout must not leak in: neither their paths nor the metadata by which plugins are found.
    So the environment sees the running one's packages through a folder of links that leaves out all that is called
    `agents…`, and its `.pth` files, where the paths are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "venv", with_pip=False)
        packages = folder / "packages"
        packages.mkdir()
        for entry in _third_party():
            (packages / entry.name).symlink_to(entry, target_is_directory=entry.is_dir())
        self.programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.programs / "python"
        (self._site() / "third_party.pth").write_text(f"{packages}\n", encoding="utf-8")

    def _site(self) -> Path:
        place = self.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout
        return Path(place.strip())

    def install(self, *wheels: Path) -> None:
        """Install wheels, without what they depend on."""
        _call([*self._pip("install"), *_OFFLINE[:-1], "--no-index", *map(str, wheels)])

    def uninstall(self, *distributions: str) -> None:
        """Take distributions away again."""
        _call([*self._pip("uninstall"), "--yes", *distributions])

    def _pip(self, command: str) -> list[str]:
        return [sys.executable, "-m", "pip", "--python", str(self.python), command, "--disable-pip-version-check"]

    def run(
        self, program: str, *arguments: str | Path, cwd: Path | None = None, code: int = 0
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment as somebody who activated it would, and expect its exit code."""
        command = [str(self.programs / program), *map(str, arguments)]
        return _call(command, cwd=cwd or self.folder, env=self._variables(), code=code)

    def run_shell(self, commands: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run commands of a shell, up to the first that fails, in which case the test does."""
        return _call(["bash", "-euc", commands], cwd=cwd, env=self._variables())

    def _variables(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "AGENTS_"))}
        return {**own, "PATH": os.pathsep.join([str(self.programs), os.environ["PATH"]]), "OMP_NUM_THREADS": "1"}


_OFFLINE = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"]


def _third_party() -> list[Path]:
    """What lies in the running environment's folders of packages and is not the project's own."""
    folders = [Path(place) for place in sys.path if Path(place).name in _SITE_FOLDERS]
    found = {entry.name: entry for folder in reversed(folders) for entry in folder.iterdir()}
    return [entry for name, entry in found.items() if not name.startswith("agents") and not name.endswith(".pth")]


def _call(
    command: list[str], *, cwd: Path | None = None, env: dict[str, str] | None = None, code: int = 0
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=_SECONDS)
    assert done.returncode == code, f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done
