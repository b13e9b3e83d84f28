# SPDX-License-Identifier: BSD-3-Clause
"""Examines which parts of DLPack a library supports, in the process that imports it."""

from __future__ import annotations

import contextlib
import re
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from .. import abi, output
from ..libraries import LIBRARIES, Library, immutable_by, read_only_of
from ..marks import by_dlbridge, is_read_only, type_name

VALUES = [0.0, 1.0, 2.0, 3.0]
# A process should load only one of them: two compete for the cores.
OPENMP = {"libgomp": "GNU", "libiomp5": "Intel", "libomp": "LLVM"}


def examine(name: str) -> dict[str, Any]:
    """Imports a library, creates an array, and requests capsules of both kinds from it.

    Passes exceptions of the import on; later failures are reported in "failed". For a library
    without arrays "protocol" is None.
    """
    library = LIBRARIES[name]
    started = time.perf_counter()
    module = library.load()
    result: dict[str, Any] = {
        "version": library.version or _version(module),
        "seconds": round(time.perf_counter() - started, 2),
        "legacy": None,  # whether a bare call returns a legacy capsule
        "versioned": None,  # the version in the struct that max_version returns
        "protocol": None,  # whether its arrays have __dlpack__
        "exchange_table": None,  # its version
        # What dlbridge makes of arrays that the library never changes; None for other libraries.
        "immutable": None,
        # Whether the versioned export of a read-only array is marked so; None for no such array.
        "read_only_is_marked": None,
        "openmp": openmp(),
        "built_for": built_for(module),
    }
    if library.array is not None:
        try:
            array = library.array(module, VALUES, "float32")
            exported = library.give(module, array)
            result.update(_describe(exported))
            result["read_only_is_marked"] = _keeps_the_mark(library, module, array)
            if immutable_by(type_name(type(exported))) is not None:
                result["immutable"] = by_dlbridge(exported)
        except ImportError:  # its arrays are in another package, as dpctl's are in dpnp
            pass
        except Exception as error:
            result["failed"] = ": ".join(filter(None, [type(error).__name__, str(error)]))
    return result


def file_here(name: str) -> str | None:
    """Returns a file of the current folder that takes part in the failing import of a library."""
    try:
        LIBRARIES[name].load()
    except Exception as error:
        missing = (getattr(error, "name", None) or "").partition(".")[0]
        found = getattr(sys.modules.get(missing), "__file__", None)
        files = [found, *(each.filename for each in traceback.extract_tb(error.__traceback__))]
        for file in map(Path, filter(None, files)):
            top = file.parent if file.name == "__init__.py" else file
            if file.is_file() and top.resolve().parent == Path.cwd():
                return str(file)
    return None


def _version(module: Any) -> str:
    """Returns what a module states as its version, in one short line."""
    try:
        return output.one_line(str(module.__version__)) or "unknown"
    except Exception:  # it has none, or its text cannot be read
        return "unknown"


def _describe(x: Any) -> dict[str, Any]:
    if abi.is_capsule(x):
        return {"protocol": False, **_describe_capsule(x)}
    if not hasattr(type(x), "__dlpack__"):
        return {"protocol": False}
    description = {"protocol": True, **_describe_capsule(x.__dlpack__())}
    with contextlib.suppress(TypeError):  # the producer is older than the keyword
        description.update(_describe_capsule(x.__dlpack__(max_version=(1, 0))))
    table = abi.exchange_table(type(x))
    if table is not None:
        description["exchange_table"] = f"{table.header.version.major}.{table.header.version.minor}"
    return description


def _keeps_the_mark(library: Library, module: Any, array: Any) -> bool | None:
    """Whether an array that tells on some road that it is read-only is exported as such."""
    mark = read_only_of(library)
    if mark is None:
        return None
    try:
        x = library.give(module, mark(module, array))
        contents = abi.read(x.__dlpack__(max_version=(1, 0))) if is_read_only(x) else None
    except Exception:  # it has no such arrays, or refuses to export them
        return None
    if contents is None or contents.version is None:
        return None
    return bool(contents.flags & abi.READ_ONLY)


def _describe_capsule(capsule: Any) -> dict[str, Any]:
    contents = abi.read(capsule)
    if contents.version is None:
        return {"legacy": True}
    return {"versioned": ".".join(map(str, contents.version))}


def openmp() -> list[str]:
    """Returns the vendors of the OpenMP runtimes in this process; on Linux only."""
    if not sys.platform.startswith("linux"):
        return []
    files = re.findall(r"(\S+)$", Path("/proc/self/maps").read_text(), re.M)
    stems = {re.split(r"[-.]", Path(file).name)[0] for file in files}
    return sorted(whose for stem, whose in OPENMP.items() if stem in stems)


def built_for(module: Any) -> str | None:
    """ "CUDA 13.0" or "ROCm 7.1" where PyTorch or Paddle reports such a build."""
    version = getattr(module, "version", None)
    for attribute, title in (("cuda", "CUDA"), ("hip", "ROCm")):
        description = getattr(version, attribute, None)
        if isinstance(description, str) and description != "False":  # Paddle reports "False"
            return f"{title} {description}"
    return None
