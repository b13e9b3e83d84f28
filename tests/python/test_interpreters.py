# SPDX-License-Identifier: BSD-3-Clause
"""The import in a subinterpreter is refused, and a fork of the process may use the tensors."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest


def run(code: str) -> str:
    """The output of a new process, which must exit with status 0 within a minute."""
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def message_of_the_import(module: str, first: str = "") -> str:
    """Of the ImportError in a subinterpreter that shares the GIL, as extension modules expect."""
    return run(f"""
        import sys
        {first}
        if sys.version_info >= (3, 13):
            import _interpreters as interpreters
            other = interpreters.create("legacy")
        else:
            import _xxsubinterpreters as interpreters
            other = interpreters.create(isolated=False)
        interpreters.run_string(other, '''if True:
            import sys
            sys.path[:] = {sys.path!r}
            try:
                import {module}
            except ImportError as error:
                print(error, flush=True)
            else:
                print("imported", flush=True)
        ''')
    """)


@pytest.mark.parametrize("first", ["", "import dlbridge"])
def test_a_subinterpreter_refuses_the_import(first: str) -> None:
    assert "import it in the main interpreter" in message_of_the_import("dlbridge", first)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="pybind11 and nanobind hang themselves")
@pytest.mark.parametrize("first", ["", "import {}"])
@pytest.mark.parametrize("module", ["extension", "nanobind_extension"])
def test_a_subinterpreter_refuses_the_import_of_an_extension(module: str, first: str) -> None:
    pytest.importorskip(module)
    # CPython without the GIL refuses the module before it runs any code.
    assert "support" in message_of_the_import(module, first.format(module))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_uses_and_frees_the_tensors() -> None:
    output = run("""
        import os, sys, threading
        import dlbridge
        t = dlbridge.as_tensor(bytearray(b"abc"))
        capsule = t.__dlpack__()
        exchanging = True
        def exchange():
            while exchanging:
                dlbridge.from_dlpack(t, copy=True)
        thread = threading.Thread(target=exchange)
        thread.start()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                u = dlbridge.from_dlpack(dlbridge.from_dlpack(t), copy=True)
                del capsule
                os._exit(bytes(memoryview(u)) != b"abc")
            assert os.waitpid(child, 0)[1] == 0
        exchanging = False
        thread.join()
        print("done")
    """)
    assert output == "done\n"
