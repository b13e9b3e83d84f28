# SPDX-License-Identifier: BSD-3-Clause
"""Checks the artefacts that packaging/make.py and cibuildwheel have made.

    check_release.py FOLDER               contents, licences, metadata
    check_release.py FOLDER --install     also installs and tries those that fit a Python here
    check_release.py FOLDER --tag v1.2.3  also that the release of that tag may be published
    check_release.py --tag v1.2.3         only that the tag is the version of the headers

It needs twine, which brings packaging, and check-wheel-contents.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path

from make import SUMS, wrong_sums
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

CHECKOUT = Path(__file__).resolve().parents[1]
TAG = "v" + ".".join(re.findall(r"#define DLBRIDGE_VERSION_\w+ (\d+)",
                                (CHECKOUT / "include/dlbridge/abi.hpp").read_text()))  # fmt: skip
LICENSES = {"LICENSE", "NOTICE", "LICENSES/Apache-2.0.txt"}
OF_SDIST = LICENSES | {"SECURITY.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml"}
SDIST, SOURCE = (f"dlbridge-{TAG[1:]}{end}.tar.gz" for end in ("", "-source"))
KINDS = ("dlbridge-*.whl", "dlbridge_headers-*-py3-none-any.whl", SDIST, SOURCE, SUMS,
         "dlbridge_tools-*-py3-none-any.whl", "dlbridge.hpp", "dlbridge-*-site.tar.gz")  # fmt: skip
PURE = re.compile(r".*\.(py|html|typed)|info/.*")  # the files of a wheel without compiled code


def read(path: Path) -> tuple[dict[str, int], str]:
    """The files of an artefact with their checksums, which those of an sdist lack; its metadata."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            files = {re.sub(r"^[^/]+\.dist-info/", "info/", each.filename): each.CRC
                     for each in wheel.infolist() if not each.is_dir()}  # fmt: skip
            name = next(each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
            return files, wheel.read(name).decode()
    with tarfile.open(path) as sdist:
        files = {each.partition("/")[2]: 0 for each in sdist.getnames()}
        content = sdist.extractfile(f"{path.name[:-7]}/PKG-INFO")
        return files, content.read().decode() if content else ""


def faults(path: Path, headers: dict[str, int], is_release: bool) -> list[str]:
    """What is wrong with an artefact. All wheels but that of the tools have the headers of the
    first, which adds them."""
    files, text = read(path)
    metadata = HeaderParser().parsestr(text)
    addresses = [each.split(", ")[1] for each in metadata.get_all("Project-URL", [])]
    is_wheel = path.suffix == ".whl"
    needed = {f"info/licenses/{name}" for name in LICENSES} if is_wheel else OF_SDIST
    found = [f"lacks {name}" for name in sorted(needed - files.keys())]
    found += [] if f"v{metadata['Version']}" == TAG else [f"is not of {TAG}"]
    found += [] if len(addresses) == 4 else ["does not name the four addresses of the project"]
    if is_release and any(".invalid/" in each for each in addresses):
        found.append("names a placeholder in place of the project's address")
    if path.name.startswith("dlbridge_tools-"):
        found += [f"has {name}" for name in sorted(files) if not PURE.fullmatch(name)]
        found += [f"requires {each}" for each in metadata.get_all("Requires-Dist", [])]
    elif is_wheel:
        parts = {name.partition("/include/")[2]: checksum for name, checksum in files.items()}
        own = {name: checksum for name, checksum in parts.items() if name}
        headers.update({} if headers else own)
        found += [] if own == headers else ["has other headers than the first wheel"]
        found += [] if "dlpack/dlpack.h" in own else ["lacks dlpack.h"]
    found += ["needs auditwheel repair"] if "-linux_" in path.name else []
    print(f"{path.name}: {path.stat().st_size:,} bytes, {len(files)} files")
    return [f"{path.name} {each}" for each in found]


def python_of(path: Path) -> str | None:
    """The interpreter of this machine that an artefact fits."""
    tags = parse_wheel_filename(path.name)[3] if path.suffix == ".whl" else frozenset(sys_tags())
    if not tags.isdisjoint(sys_tags()):
        return sys.executable
    version = re.search(r"-cp3(\d+)-cp3\1-", path.name)
    name = f"python3.{version[1]}" if version else ""
    is_of_platform = {each.platform for each in tags} & {each.platform for each in sys_tags()}
    runs = shutil.which(name) and not subprocess.call([name, "-c", ""], stderr=subprocess.DEVNULL)
    return name if is_of_platform and runs else None


def install(path: Path) -> None:
    """Installs an artefact in an environment of its own, and tries it, if it fits a Python here."""
    if (base := python_of(path)) is None:
        return print(f"{path.name}: not installed, as this machine has no Python for it")
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder, "Scripts" if sys.platform == "win32" else "bin", "python"))
        subprocess.run([base, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", str(path), "numpy"], check=True)
        own_test = str(CHECKOUT / "packaging/try_installed.py")
        ways = {
            "dlbridge": [[own_test], ["-m", "dlbridge", "demo"]],
            "dlbridge_headers": [["-m", "dlbridge_headers", "--include-dir"]],
            "dlbridge_tools": [["-m", "dlbridge_tools", "conformance", "numpy", "--only=P-04"]],
        }[path.name.partition("-")[0]]
        for way in ways:
            subprocess.run([python, *way], check=True, cwd=folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--tag")
    chosen = parser.parse_args()
    found = [f"the tag is not {TAG}"] if chosen.tag not in (None, TAG) else []
    if chosen.folder:
        paths = sorted([*chosen.folder.glob("*.whl"), *chosen.folder.glob(SDIST)])
        headers: dict[str, int] = {}
        for path in paths:
            found += faults(path, headers, bool(chosen.tag))
        if chosen.tag or not paths:
            found += [f"there is no {kind}" for kind in KINDS if not any(chosen.folder.glob(kind))]
        for header in chosen.folder.glob("dlbridge.hpp"):
            is_of_tag = header.read_text(encoding="utf-8").startswith(f"// dlbridge {TAG[1:]} ")
            found += [] if is_of_tag else [f"dlbridge.hpp is not of {TAG}"]
        found += [f"{name} is not the file of {SUMS}" for name in wrong_sums(chosen.folder)]
        wheels = [str(path) for path in paths if path.suffix == ".whl"]
        for command in (["twine", "check", "--strict", *map(str, paths)],
                        ["check_wheel_contents", *wheels]):  # fmt: skip
            failed = subprocess.call([sys.executable, "-m", *command])
            found += [f"{command[0]} failed"] if failed else []
        for path in paths if chosen.install else []:
            install(path)
    print("\n".join(f"FAILED: {each}" for each in found) or "no faults")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
