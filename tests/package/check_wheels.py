# SPDX-License-Identifier: BSD-3-Clause
"""Checks the wheels of dlbridge, dlbridge-headers and dlbridge-tools.

No two have a file in common, so that all can be installed; dlbridge has the same headers and the
same tools as the others; those fit every Python; and pip refuses all on a Python before 3.9.

    check_wheels.py WHEEL WHEEL WHEEL
"""

from __future__ import annotations

import sys
import zipfile
from itertools import combinations
from pathlib import Path


def contents(wheel: Path) -> dict[str, int]:
    """The files of a wheel with their checksums; one that auditwheel has repaired lists folders."""
    files = zipfile.ZipFile(wheel).infolist()
    return {each.filename: each.CRC for each in files if not each.is_dir()}


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
    faults = [
        f"in two wheels: {name}"
        for one, other in combinations(files.values(), 2)
        for name in one.keys() & other.keys()
    ]
    faults += [
        f"not for every Python: {wheels[name].name}"
        for name in ("dlbridge_headers", "dlbridge_tools")
        if not wheels[name].name.endswith("-py3-none-any.whl")
    ]
    faults += [
        f"not refused by an older Python: {path.name}"
        for path in wheels.values()
        if "\nRequires-Python: >=3.9\n" not in metadata(path)
    ]
    for own_folder, wheel, folder, one_of_them in (
        ("dlbridge/include/", "dlbridge_headers", "dlbridge_headers/include/", "dlpack/dlpack.h"),
        ("dlbridge/tools/", "dlbridge_tools", "dlbridge_tools/", "conformance/child.py"),
    ):
        own, others = below(files["dlbridge"], own_folder), below(files[wheel], folder)
        others.pop("py.typed", None)  # of a package: that of dlbridge is above its tools
        if own != others or one_of_them not in own:
            different = sorted(
                name for name in own.keys() | others.keys() if own.get(name) != others.get(name)
            )
            faults.append(f"{own_folder} and {folder} differ: {different}")
        print(f"{len(own)} files of {own_folder} are those of {folder}")
    print("\n".join(faults) or "no faults")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
