# SPDX-License-Identifier: BSD-3-Clause
# [setup]
import dlbridge_headers
from pybind11.setup_helpers import Pybind11Extension
from setuptools import setup

setup(
    ext_modules=[
        Pybind11Extension(
            "norms",
            ["src/norms.cpp"],
            include_dirs=[dlbridge_headers.get_include()],
            cxx_std=17,
        )
    ]
)
# [/setup]
