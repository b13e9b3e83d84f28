# SPDX-License-Identifier: BSD-3-Clause
"""Checks the wheels of dlbridge and of dlbridge-headers.

They have no file in common, so that both can be installed; both have the same headers; that of the
headers fits every Python; and pip refuses both on a Python before 3.9.

    check_wheels.py WHEEL WHEEL
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path


def contents(wheel: Path) -> dict[str, int]:
    """The files of a wheel with their checksums."""
    return {each.filename: each.CRC for each in zipfile.ZipFile(wheel).infolist()}


def metadata(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return archive.read(name).decode()


def below(files: dict[str, int], folder: str) -> dict[str, int]:
    return {
        name[len(folder) :]: checksum for name, checksum in files.items() if name.startswith(folder)
    }


def main() -> int:
    wheels = {path.name.split("-")[0]: path for path in map(Path, sys.argv[1:])}
    files = {name: contents(path) for name, path in wheels.items()}
    package, headers = files["dlbridge"], files["dlbridge_headers"]
    faults = [f"in both wheels: {name}" for name in package.keys() & headers.keys()]
    if not wheels["dlbridge_headers"].name.endswith("-py3-none-any.whl"):
        faults.append(f"not for every Python: {wheels['dlbridge_headers'].name}")
    faults += [
        f"not refused by an older Python: {path.name}"
        for path in wheels.values()
        if "\nRequires-Python: >=3.9\n" not in metadata(path)
    ]
    own = below(package, "dlbridge/include/")
    others = below(headers, "dlbridge_headers/include/")
    if own != others or "dlpack/dlpack.h" not in own:
        different = sorted(
            name for name in own.keys() | others.keys() if own.get(name) != others.get(name)
        )
        faults.append(f"the headers differ: {different}")
    print("\n".join(faults) or f"{len(own)} headers in both wheels, and no file in common")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
