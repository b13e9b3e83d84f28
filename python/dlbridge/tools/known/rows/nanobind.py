"""The known defects of nanobind, which needs a compiler to show them."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect, refused

ROWS = [
    Defect(
        "nanobind-any-version",
        "nanobind",
        "3.1.0",
        "accepted",
        "Arguments of nb::ndarray take tensors of major version 2, whose fields nobody knows.",
        "Garbage in every extension, once a producer of a later DLPack is there.",
        "Go through dlbridge: it gives version 1, and refuses any other on the way in.",
        """
        import os, subprocess, sysconfig, nanobind, by_hand
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
        print(taker.size(by_hand.Producer(version=(2, 0))), "elements")
        """,
        "4 elements",
        refused("by_hand.capsule(version=(2, 0))"),
        found_by=("C-04",),
    ),
]
