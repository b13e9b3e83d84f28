# SPDX-License-Identifier: BSD-3-Clause
# [setup]
import dlbridge_headers
from pybind11.setup_helpers import Pybind11Extension
from setuptools import setup

setup(
    ext_modules=[
        Pybind11Extension(
            "two_units",
            ["src/module.cpp", "src/norms.cpp", "src/dlbridge.cpp"],
            include_dirs=[dlbridge_headers.get_include()],
            define_macros=[("DLBRIDGE_COMPILED", None)],
            cxx_std=17,
        )
    ]
)
# [/setup]
