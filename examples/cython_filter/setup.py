# SPDX-License-Identifier: BSD-3-Clause
# [setup]
import os

import dlbridge_headers
from Cython.Build import cythonize
from setuptools import Extension, setup

FLAGS = ["/std:c++17"] if os.name == "nt" else ["-std=c++17", "-fvisibility=hidden"]


def extension(name, **options):
    include = [dlbridge_headers.get_include()]
    return Extension(f"cython_filter.{name}", [f"src/{name}.pyx"], include_dirs=include,
                     extra_compile_args=FLAGS, **options)  # fmt: skip


modules = [
    extension("filters"),
    extension("memory", define_macros=[("CYTHON_USE_TYPE_SPECS", "1")]),
]
setup(ext_modules=cythonize(modules, build_dir="build"))
# [/setup]
