"""What a library speaks of DLPack, found out in the process that imports it."""

from __future__ import annotations

import contextlib
import re
import sys
import time
from pathlib import Path
from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.libraries import LIBRARIES

VALUES = [0.0, 1.0, 2.0, 3.0]
# One of each kind in a process is enough: two of them disagree about threads.
OPENMP = {"libgomp": "GNU", "libiomp5": "Intel", "libomp": "LLVM"}


def look(name: str) -> dict[str, Any]:
    """Imports a library, makes an array of its own, and asks that for capsules of either kind.

    Raises what importing it raises; what fails after that is said in "failed". Where it makes no
    arrays, "protocol" stays None.
    """
    library = LIBRARIES[name]
    started = time.perf_counter()
    module = library.load()
    found: dict[str, Any] = {
        "version": library.version or str(getattr(module, "__version__", "unknown")),
        "seconds": round(time.perf_counter() - started, 2),
        "legacy": None,  # whether a bare call gives a legacy capsule
        "versioned": None,  # the version in the struct that it gives when asked for one
        "protocol": None,  # whether its arrays have __dlpack__
        "exchange_table": None,  # its version
        "openmp": openmp(),
        "built_for": built_for(module),
    }
    if library.array is not None:
        try:
            found.update(_speech(library.give(module, library.array(module, VALUES, "float32"))))
        except ImportError:  # its arrays live elsewhere, as dpctl's moved to dpnp
            pass
        except Exception as raised:
            found["failed"] = f"{type(raised).__name__}: {raised}"
    return found


def _speech(x: Any) -> dict[str, Any]:
    if abi.is_capsule(x):
        return {"protocol": False, **_kind(x)}
    if not hasattr(type(x), "__dlpack__"):
        return {"protocol": False}
    said = {"protocol": True, **_kind(x.__dlpack__())}
    with contextlib.suppress(TypeError):  # of one that is older than the keyword
        said.update(_kind(x.__dlpack__(max_version=(1, 0))))
    table = abi.exchange_table(type(x))
    if table is not None:
        said["exchange_table"] = f"{table.header.version.major}.{table.header.version.minor}"
    return said


def _kind(capsule: Any) -> dict[str, Any]:
    contents = abi.read(capsule)
    if contents.version is None:
        return {"legacy": True}
    return {"versioned": ".".join(map(str, contents.version))}


def openmp() -> list[str]:
    """The OpenMP runtimes in this process, by whose they are; Linux says, others do not."""
    if not sys.platform.startswith("linux"):
        return []
    files = re.findall(r"(\S+)$", Path("/proc/self/maps").read_text(), re.M)
    stems = {re.split(r"[-.]", Path(file).name)[0] for file in files}
    return sorted(whose for stem, whose in OPENMP.items() if stem in stems)


def built_for(module: Any) -> str | None:
    """ "CUDA 13.0" or "ROCm 7.1" where PyTorch says that it was built for one."""
    version = getattr(module, "version", None)
    for attribute, title in (("cuda", "CUDA"), ("hip", "ROCm")):
        said = getattr(version, attribute, None)
        if isinstance(said, str) and said != "False":  # as Paddle says no
            return f"{title} {said}"
    return None
