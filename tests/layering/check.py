"""Holds the include graph of include/ to its floors: every arrow goes strictly down.

Each header says its floor in one of its first lines, `// floor N · station`; a door (a header with
nothing but includes) has none and may include anything. Folders say what else a header may include.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

# The foreign headers that a folder of include/dlbridge allows, besides the C and C++ standard's.
ALLOWED = {
    "": {"dlpack/dlpack.h"},
    "types": {"dlpack/dlpack.h"},
    "runtime": {"dlpack/dlpack.h", "dlfcn.h", "link.h", "windows.h"},
    "bridges": {"dlpack/dlpack.h"},
    "python": {"dlpack/dlpack.h"},
    "python/pybind11": {"dlpack/dlpack.h", "pybind11/pybind11.h"},
}
# The one library that a single header may know, and the one includer of Python.h.
EXCEPTIONS = {
    "python/interp.hpp": {"Python.h"},
    "bridges/eigen.hpp": {"Eigen/Core"},
    "bridges/eigen_tensor.hpp": {"unsupported/Eigen/CXX11/Tensor"},
    "bridges/xtensor.hpp": {
        "xtensor/xarray.hpp",
        "xtensor/xbuffer_adaptor.hpp",
        "xtensor/xfixed.hpp",
        "xtensor/xtensor.hpp",
    },
    "bridges/kokkos.hpp": {"Kokkos_Core.hpp"},
    "bridges/opencv.hpp": {"opencv2/core.hpp"},
    "bridges/armadillo.hpp": {"armadillo"},
}
STANDARD = re.compile(r"[a-z_]+$")  # <vector>, <type_traits>; C headers are spelled <cstdint>


@dataclass
class Header:
    name: str
    text: str
    floor: "int | None" = None
    ours: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    @property
    def is_door(self) -> bool:
        code = [
            line
            for line in self.text.splitlines()
            if line.strip() and not line.lstrip().startswith("//")
        ]
        return all(line.startswith(("#include", "#pragma once", "#if", "#endif")) for line in code)


def read(root: Path) -> dict[str, Header]:
    headers = {}
    for path in sorted(root.glob("dlbridge/**/*.hpp")):
        header = Header(str(path.relative_to(root / "dlbridge")), path.read_text())
        if floor := re.search(r"^// floor (\d+) · ", header.text, re.MULTILINE):
            header.floor = int(floor.group(1))
        for included in re.findall(
            r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', header.text, re.MULTILINE
        ):
            if included.startswith("dlbridge/"):
                header.ours.append(included[len("dlbridge/") :])
            else:
                header.foreign.append(included)
        headers[header.name] = header
    return headers


def faults(headers: dict[str, Header]) -> list[str]:
    found = []
    for header in headers.values():
        lines = header.text.splitlines()
        if not lines[0].startswith("// "):
            found.append(f"{header.name}: does not begin with its one sentence")
        if header.floor is None and not header.is_door:
            found.append(f"{header.name}: says no floor, and is no door")
        if header.floor is not None and not any("floor" in line for line in lines[1:5]):
            found.append(f"{header.name}: its floor is not below its sentence")
        for name in header.ours:
            target = headers.get(name)
            if target is None:
                found.append(f"{header.name}: includes {name}, which does not exist")
            elif header.floor is None:
                continue
            elif target.floor is None:
                found.append(f"{header.name}: includes the door {name}")
            elif target.floor >= header.floor:
                way = "sideways" if target.floor == header.floor else "up"
                found.append(
                    f"{header.name} (floor {header.floor}) goes {way} to "
                    f"{name} (floor {target.floor})"
                )
        folder = header.name.rpartition("/")[0]
        allowed = ALLOWED[folder] | EXCEPTIONS.get(header.name, set())
        for name in header.foreign:
            if name not in allowed and not STANDARD.fullmatch(name):
                found.append(f"{header.name}: may not include <{name}>")
    return found


def main() -> int:
    headers = read(Path(sys.argv[1]))
    found = faults(headers)
    for fault in found:
        print("FAILED", fault)
    floors = {header.floor for header in headers.values()} - {None}
    arrows = sum(len(header.ours) for header in headers.values())
    print(f"{len(headers)} headers on {len(floors)} floors, {arrows} arrows, {len(found)} faults")
    return int(bool(found) or not headers)


if __name__ == "__main__":
    sys.exit(main())
