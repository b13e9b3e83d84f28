# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of nanobind, whose programs need a C++ compiler."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect, changed, refused

ROWS = [
    Defect(
        "nanobind-any-version",
        "nanobind",
        "3.1.0",
        "accepted",
        "must",
        (t.MAJOR,),
        "Arguments of nb::ndarray accept tensors of major version 2, whose fields are unknown.",
        "Every extension reads garbage once producers of a later DLPack exist.",
        "Convert with dlbridge: it exports version 1, and refuses any other on import.",
        changed(
            "version",
            2,
            """
            import os, subprocess, sysconfig, nanobind
            open("taker.cpp", "w").write('''
            #include <nanobind/ndarray.h>
            NB_MODULE(taker, m) { m.def("size", [](nanobind::ndarray<> x) { return x.size(); }); }
            ''')
            root = os.path.dirname(nanobind.__file__)
            include = [nanobind.include_dir(), root + "/ext/robin_map/include",
                       sysconfig.get_path("include")]
            subprocess.run(["c++", "-std=c++17", "-shared", "-fPIC", "-fno-strict-aliasing",
                            *("-I" + each for each in include), root + "/src/nb_combined.cpp",
                            "taker.cpp", "-o", "taker.so"], check=True)
            import taker
            print(taker.size(Producer()), "elements")
            """,
        ),
        "4 elements",
        refused("ctypes_tensors.capsule(version=(2, 0))"),
        found_by=("C-04",),
        title="nb::ndarray accepts DLManagedTensorVersioned of major version 2",
    ),
]
