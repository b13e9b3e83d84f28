# SPDX-License-Identifier: BSD-3-Clause
"""Runs sessions of noxfile.py on the artefacts of a release, with the checkout out of reach.

    from_artefacts.py FOLDER SESSION ...

The tests and examples are those of the source archive, which is unpacked outside the checkout. The
sessions install the wheels. The Python package and the headers of the archive are replaced by those
of the wheels. Where the system permits it, an empty file system hides the checkout.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from zipfile import ZipFile

from make import wrong_sums

CHECKOUT = Path(__file__).resolve().parents[1]
PYTHON: str = getattr(sys, "_base_executable", sys.executable)  # not that of an environment here
# As root, and as a user who is root in a namespace of his own.
NAMESPACES = (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"])
HIDDEN = ["sh", "-c", f'mount -t tmpfs none "{CHECKOUT}" && exec "$@"', "sh"]


def sort_wheels(folder: Path, target: Path) -> Path:
    """The folder that .ci/package.py reads: the wheels for this Python, each in a folder."""
    this = f"cp{sys.version_info.major}{sys.version_info.minor}"
    patterns = {"dlbridge": f"dlbridge-*-{this}-*.whl", "headers": "dlbridge_headers-*.whl",
                "tools": "dlbridge_tools-*.whl"}  # fmt: skip
    for name, pattern in patterns.items():
        (wheel,) = folder.glob(pattern)
        (target / name).mkdir(parents=True)
        shutil.copy(wheel, target / name)
    return target


def unpack(folder: Path, target: Path) -> Path:
    """Returns the folder of the sources, with the headers and the package of the wheels."""
    (source,) = folder.glob("dlbridge-*-source.tar.gz")
    with tarfile.open(source) as files:
        files.extractall(target, filter="data")
    (sources,) = target.glob("dlbridge-*")
    for name, inner, replaced in (("headers", "dlbridge_headers/include", "include"),
                                  ("dlbridge", "dlbridge", "python/dlbridge")):  # fmt: skip
        (wheel,) = (target / "wheels" / name).iterdir()
        with ZipFile(wheel) as files:
            files.extractall(target / name)
        shutil.rmtree(sources / replaced)
        (sources / replaced).symlink_to(target / name / inner)
    return sources


def hiding() -> list[str]:
    """The start of a command whose process does not see the checkout."""
    for namespace in NAMESPACES if shutil.which("unshare") else ():
        command = [*namespace, *HIDDEN]
        if subprocess.call([*command, "true"], stderr=subprocess.DEVNULL) == 0:
            return command
    print("warning: the checkout stays in reach, as this system permits no namespace of mounts")
    return []


def forget_checkout() -> None:
    """Removes the variables of this process that name the checkout, as TMPDIR in a session."""
    here = str(CHECKOUT)
    folders = os.environ["PATH"].split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(each for each in folders if here not in each)
    for name in [name for name, value in os.environ.items() if here in value]:
        del os.environ[name]


def main() -> int:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder = Path(sys.argv[1]).resolve()
    if wrong := wrong_sums(folder):
        sys.exit(f"expected the files and sums of SHA256SUMS; these differ: {', '.join(wrong)}")
    forget_checkout()
    with tempfile.TemporaryDirectory() as target:
        wheels = sort_wheels(folder, Path(target, "wheels"))
        sources = unpack(folder, Path(target))
        return subprocess.call(
            [*hiding(), PYTHON, "noxfile.py", "tests", "--jobs=2", *sys.argv[2:]],
            cwd=sources, env={**os.environ, "DLBRIDGE_ARTEFACTS": str(wheels)},
        )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
