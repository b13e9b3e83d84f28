# SPDX-License-Identifier: BSD-3-Clause
"""Makes the artefacts of a release from what is committed, and their checksums.

    make.py FOLDER              every artefact that this machine can make
    make.py FOLDER PART ...     these parts alone, and the checksums of all that is in the folder
    make.py FOLDER --twice      makes them twice, and fails if two files differ
    --python PYTHON             also makes the wheel for this interpreter; may be repeated
    --download-dlpack           gives the headers the dlpack.h that CMake downloads, as cibuildwheel
                                gives it to the wheels, and not that of apache-tvm-ffi

The parts are sdist, wheels, headers, tools, single_header, source, site and sums. It needs git, the
dependency groups release and site, a C++ compiler for the wheels, and doxygen for the site. Two
builds of one commit have equal bytes if the compiler and the build requirements are the same.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from zipfile import ZipFile

CHECKOUT = Path(__file__).resolve().parents[1]
SUMS = "SHA256SUMS"


def run(*command: str | Path, cwd: Path | None = None) -> None:
    subprocess.run([*map(str, command)], check=True, cwd=cwd)


def pip_wheel(project: Path, folder: Path, *settings: str, python: str = sys.executable) -> None:
    run(python, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder, *settings, project)


def git(*arguments: str, **variables: str) -> bytes:
    environment = {**os.environ, **variables}
    return subprocess.check_output(["git", *arguments], cwd=CHECKOUT, env=environment)


def committed() -> str:
    """HEAD; if tracked files are modified, a tree of them, with a warning."""
    with tempfile.TemporaryDirectory() as folder:  # another process may have locked the index
        index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
        git("read-tree", "HEAD", **index)
        git("add", "--update", **index)
        tree = git("write-tree", **index).decode().strip()
    if tree == git("rev-parse", "HEAD^{tree}").decode().strip():
        return "HEAD"
    print("warning: the artefacts have changes that are not committed", file=sys.stderr)
    return tree


def write_archive(target: Path, tar: bytes) -> None:
    target.write_bytes(gzip.compress(tar, mtime=0))


class Parts:
    """The parts of a release, made in `folder` of a copy of what is committed, in `sources`."""

    def __init__(self, sources: Path, folder: Path, options: argparse.Namespace) -> None:
        self.commit, self.sources, self.folder, self.options = committed(), sources, folder, options
        with tarfile.open(fileobj=io.BytesIO(git("archive", "--format=tar", self.commit))) as files:
            files.extractall(sources, filter="data")
        text = (sources / "include/dlbridge/abi.hpp").read_text()
        self.version = ".".join(re.findall(r"define DLBRIDGE_VERSION_\w+ (\d+)", text))

    def sdist(self) -> None:
        run(sys.executable, "-m", "build", "--sdist", "--outdir", self.folder, self.sources)

    def wheels(self) -> None:
        raw = self.sources / "raw"
        for python in [sys.executable, *self.options.python]:
            pip_wheel(self.sources, raw, python=python)
        for wheel in raw.glob("*.whl"):
            if sys.platform == "linux":
                run("auditwheel", "repair", "--wheel-dir", self.folder, wheel)
            else:
                shutil.copy(wheel, self.folder)

    def headers(self) -> None:
        download = ["--config-settings=build.requires=scikit-build-core"]
        pip_wheel(self.sources / "packaging/headers", self.folder,
                  *(download if self.options.download_dlpack else []))  # fmt: skip

    def tools(self) -> None:
        pip_wheel(self.sources / "packaging/tools", self.folder)

    def single_header(self) -> None:
        """With the dlpack.h of the wheel of the headers."""
        (wheel,) = self.folder.glob("dlbridge_headers-*.whl")
        with ZipFile(wheel) as files:
            dlpack = files.extract("dlbridge_headers/include/dlpack/dlpack.h", self.sources)
        run(sys.executable, self.sources / "packaging/single_header.py", dlpack,
            self.folder / "dlbridge.hpp")  # fmt: skip

    def source(self) -> None:
        """Every committed file; the sdist leaves out what only maintainers need."""
        name = f"dlbridge-{self.version}-source"
        tar = git("archive", "--format=tar", f"--prefix={name}/", self.commit)
        write_archive(self.folder / f"{name}.tar.gz", tar)

    def site(self) -> None:
        name = f"dlbridge-{self.version}-site"
        pages = self.sources / "site" / name
        run(sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "docs", pages,
            cwd=self.sources)  # fmt: skip
        with io.BytesIO() as buffer:
            with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as files:
                for path in sorted(pages.rglob("*")):
                    if path.is_file() and ".doctrees" not in path.parts:
                        files.add(path, path.relative_to(pages.parent), filter=without_owner)
            write_archive(self.folder / f"{name}.tar.gz", buffer.getvalue())

    def sums(self) -> None:
        """Of everything in the folder, in the form of sha256sum."""
        lines = "".join(f"{value}  {name}\n" for name, value in hashes(self.folder).items())
        (self.folder / SUMS).write_text(lines)


def hashes(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file of a folder but SHA256SUMS."""
    files = sorted(each for each in folder.iterdir() if each.name != SUMS)
    return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in files}


def wrong_sums(folder: Path) -> list[str]:
    """The files of a folder that SHA256SUMS lacks, or has with another sum, and those that it has
    alone."""
    lines = (folder / SUMS).read_text().splitlines() if (folder / SUMS).exists() else []
    stated = {name: value for value, name in (line.split("  ") for line in lines)}
    return sorted({name for name, _ in stated.items() ^ hashes(folder).items()})


PARTS = [name for name in vars(Parts) if not name.startswith("_")]


def without_owner(file: tarfile.TarInfo) -> tarfile.TarInfo:
    file.uid = file.gid = 0
    file.uname = file.gname = ""
    file.mode, file.mtime = 0o644, int(os.environ["SOURCE_DATE_EPOCH"])
    return file


def make(folder: Path, options: argparse.Namespace) -> dict[str, str]:
    """Makes the parts in the order of PARTS, and always `sums`. Returns the hashes."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as sources:
        parts = Parts(Path(sources), folder.resolve(), options)
        for name in PARTS:
            if name in (*(options.parts or PARTS), "sums"):
                print(f"-- {name}", flush=True)
                getattr(parts, name)()
    return hashes(folder)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--download-dlpack", action="store_true")
    parser.add_argument("--twice", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    os.environ["SOURCE_DATE_EPOCH"] = git("log", "-1", "--format=%ct").decode().strip()
    sums = make(options.folder, options)
    for name, value in sums.items():
        print(f"{value}  {(options.folder / name).stat().st_size:>9,}  {name}")
    if not options.twice:
        return 0
    with tempfile.TemporaryDirectory() as again:
        second = make(Path(again), options)
    differing = [name for name, value in second.items() if sums[name] != value]
    print(f"made twice: {len(second)} files, {len(differing)} differ", *differing)
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
