# SPDX-License-Identifier: BSD-3-Clause
"""Ends an interpreter while threads exchange tensors: `python exits.py KIND MILLISECONDS`.

Up to Python 3.13 a thread that waits for the GIL of an interpreter that ends is ended too, by an
unwinding of its stack. `storm()` runs many such processes and returns those that failed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

HERE = Path(__file__).resolve().parent
Step = Callable[[], object]


def import_from_python() -> Step:
    import dlbridge
    import producers

    return lambda: dlbridge.from_dlpack(producers.Producer())


def import_from_numpy() -> Step:
    import numpy as np

    import dlbridge

    a = np.zeros(3)
    return lambda: dlbridge.from_dlpack(a)


def copy() -> Step:
    import numpy as np

    import dlbridge

    a = np.zeros((30, 40))[::3]
    return lambda: dlbridge.from_dlpack(a, copy=True)


def export_to_numpy() -> Step:
    import numpy as np

    import dlbridge

    t = dlbridge.as_tensor(bytearray(16))
    return lambda: (np.from_dlpack(t), np.asarray(t), memoryview(t))


def buffers() -> Step:
    import dlbridge

    return lambda: dlbridge.as_tensor(bytearray(16)).__dlpack__()


def refuse() -> Step:
    import dlbridge
    import producers

    def step() -> None:
        for x in (producers.Producer(ndim=-1), 3, producers.Producer(device=(2, 0))):
            with contextlib.suppress(Exception):
                dlbridge.from_dlpack(x, copy=True)

    return step


def call(binding: str, function: str) -> Callable[[], Step]:
    def make() -> Step:
        import extension
        import producers

        called: Any = getattr(getattr(extension, binding), function)

        def step() -> None:
            x = producers.Producer(shape=(3,))
            called([x] if function == "totals" else x)

        return step

    return make


def call_without_gil(module: str) -> Callable[[], Step]:
    def make() -> Step:
        import producers

        called: Any = importlib.import_module(module).without_gil
        x = producers.Producer(shape=(3,))
        return lambda: called(x, x)

    return make


def refuse_call(binding: str) -> Callable[[], Step]:
    def make() -> Step:
        import extension
        import producers

        called: Any = getattr(extension, binding).sum

        def step() -> None:
            with contextlib.suppress(TypeError):
                called(producers.Producer(shape=(3,), dtype=(0, 64, 1)))

        return step

    return make


KINDS: dict[str, Callable[[], Step]] = {
    "import_from_python": import_from_python,
    "import_from_numpy": import_from_numpy,
    "copy": copy,
    "export_to_numpy": export_to_numpy,
    "buffers": buffers,
    "refuse": refuse,
    **{f"{name}_{binding}": call(binding, name)
       for binding in ("by_def", "by_library", "by_fast")
       for name in ("sum", "doubled", "totals") if (binding, name) != ("by_fast", "totals")},
    "guarded_by_pybind11": call_without_gil("extension"),
    **({"guarded_by_nanobind": call_without_gil("nanobind_extension")}
       if importlib.util.find_spec("nanobind_extension") else {}),
    **{f"refuse_{binding}": refuse_call(binding)
       for binding in ("by_def", "by_library", "by_fast")},
}  # fmt: skip


def exports(kind: str) -> list[Any]:
    """Tensors whose deleters a C thread calls without the GIL."""
    import dlbridge
    import foreign

    if kind == "deleters_of_vectors":
        from dlbridge._core import _vector

        return [foreign.consume(_vector(2, int).__dlpack__()) for _ in range(5000)]
    if kind == "deleters_of_numpy":
        import numpy as np

        tensors = (dlbridge.from_dlpack(np.zeros(2)) for _ in range(20000))
        return [foreign.consume(t.__dlpack__()) for t in tensors]
    tensors = (dlbridge.as_tensor(bytearray(16)) for _ in range(20000))
    return [foreign.consume(t.__dlpack__()) for t in tensors]


DELETERS = ["deleters_of_buffers", "deleters_of_vectors", "deleters_of_numpy"]
ALL = [*KINDS, *DELETERS]
CONTROL = "control"  # the same threads without dlbridge


def main(kind: str, milliseconds: float) -> None:
    sys.setswitchinterval(1e-5)
    if kind in DELETERS:
        import foreign

        foreign.release_in_background(exports(kind))
    else:
        step = KINDS[kind]() if kind != CONTROL else bytearray(16).hex
        step()

        def loop() -> None:
            while True:
                step()

        for _ in range(3):
            threading.Thread(target=loop, daemon=True).start()
    time.sleep(milliseconds / 1000)


def run(kind: str, milliseconds: float, python: str = sys.executable) -> str:
    """What went wrong in one process; empty when it ended with status 0."""
    command = [python, str(HERE / "exits.py"), kind, str(milliseconds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(HERE)])}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{kind}: no exit within 60 s"
    return f"{kind}: status {done.returncode}: {done.stderr}" if done.returncode != 0 else ""


def storm(kinds: list[str], exits: int, seed: int = 0) -> list[str]:
    """Runs processes of all kinds in turn; the list of what went wrong."""
    moments = random.Random(seed)
    jobs = [(kinds[i % len(kinds)], moments.uniform(0, 20)) for i in range(exits)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [failure for failure in pool.map(lambda job: run(*job), jobs) if failure]
    return [failure for failure in failures if not is_of_cpython(failure)]


def is_of_cpython(failure: str) -> bool:
    """Whether a crash does not occur again. CPython up to 3.10 itself may crash in take_gil when it
    exits while daemon threads run: about once in 100 exits of the kind "control", under load.
    """
    kind, _, rest = failure.partition(": ")
    rare = sys.version_info < (3, 11) and rest.startswith("status -11")
    return rare and sum(bool(run(kind, 10)) for _ in range(20)) <= 1


if __name__ == "__main__":
    if sys.argv[1] == "storm":
        failures = storm(sys.argv[3:] or ALL, int(sys.argv[2]))
        print(*failures, f"{sys.argv[2]} exits, {len(failures)} failures", sep="\n")
        sys.exit(bool(failures))
    main(sys.argv[1], float(sys.argv[2]))
