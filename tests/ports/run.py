# SPDX-License-Identifier: BSD-3-Clause
"""Builds a released project with dlbridge in place of py::array_t, and runs its own tests.

`python run.py NAME FOLDER`, in an environment with dlbridge-headers and with what the project
requires, downloads its source distribution to FOLDER, applies NAME.patch, installs it as pip does,
and runs its whole test suite, which the patch does not change. The run fails unless as many tests
pass, and as many are skipped, as with the unchanged project in the same environment.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

PIP = (sys.executable, "-m", "pip")
AS_IT_IS = ("--no-deps", "--no-build-isolation")


@dataclass(frozen=True)
class Release:
    """A source distribution of the package index, and the outcome of its tests as it is."""

    version: str
    sha256: str
    outcome: str


RELEASES = {
    # Skipped: what needs Bokeh or a linter, and what the oldest algorithms do not support.
    "contourpy": Release(
        "1.3.3",
        "083e12155b210502d0bca491432bb04d56dc3432f95a979b429f2848c3dbe880",
        "2328 passed, 119 skipped",
    ),
    "pynanoflann": Release(
        "0.10.0",
        "72b64a3da0758f37e95969c283615c75c6d1df5f3d6a87ddba33ea2db0afeeed",
        "17 passed",
    ),
}


def download(name: str, folder: Path) -> Path:
    """Downloads the sources, once: pip also builds a project to read its requirements."""
    release = RELEASES[name]
    folder.mkdir(parents=True, exist_ok=True)
    sdist = folder / f"{name}-{release.version}.tar.gz"
    if not sdist.exists():
        wanted = folder / "requirements.txt"
        wanted.write_text(f"{name}=={release.version} --hash=sha256:{release.sha256}\n")
        subprocess.run([*PIP, "download", "-q", *AS_IT_IS, "--no-binary", ":all:",
                        "-r", str(wanted), "-d", str(folder)], check=True)  # fmt: skip
    return sdist


def unpack(name: str, sdist: Path) -> Path:
    """The sources with the patch, without those of an earlier run."""
    folder = sdist.parent
    source = folder / f"{name}-{RELEASES[name].version}"
    shutil.rmtree(source, ignore_errors=True)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    # Within a checkout, git would skip the files that its .gitignore names.
    outside = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder)}
    patch = Path(__file__).resolve().with_name(f"{name}.patch")
    subprocess.run(["git", "apply", str(patch)], cwd=source, env=outside, check=True)
    (source / "pytest.ini").write_text("[pytest]\n")  # instead of that of a folder above
    return source


def outcome(source: Path) -> str:
    """Runs the tests on the installed package, which -P keeps apart from the sources."""
    done = subprocess.run([sys.executable, "-P", "-m", "pytest", "-q", "-n", "auto", "-p",
                           "no:cacheprovider", "-W", "ignore", "tests"],
                          cwd=source, stdout=subprocess.PIPE, text=True, check=False)  # fmt: skip
    print(done.stdout, flush=True)
    counts = re.findall(r"^(?:=+ )?(\d+ \w+(?:, \d+ \w+)*) in ", done.stdout, re.MULTILINE)
    return counts[-1] if counts else f"pytest ended with {done.returncode}"


def main() -> int:
    name, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    source = unpack(name, download(name, folder))
    subprocess.run([*PIP, "install", "-q", *AS_IT_IS, "--force-reinstall", str(source)], check=True)
    found, expected = outcome(source), RELEASES[name].outcome
    print(f"{name}: {found}; without dlbridge: {expected}")
    return int(found != expected)


if __name__ == "__main__":
    sys.exit(main())
