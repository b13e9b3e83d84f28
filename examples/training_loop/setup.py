# SPDX-License-Identifier: BSD-3-Clause
import dlbridge_headers
import pybind11
from setuptools import Extension, setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

FLAGS = ["-O2", "-fvisibility=hidden"]


def name(way):
    return f"training_loop.{way}", [f"src/{way}.cpp"]


setup(
    ext_modules=[
        Extension(
            *name("with_dlbridge"),
            include_dirs=[dlbridge_headers.get_include(), pybind11.get_include()],
            extra_compile_args=["-std=c++17", *FLAGS],
            language="c++",
        ),
        CppExtension(*name("with_torch"), extra_compile_args=FLAGS),
        CppExtension(*name("with_dispatcher"), extra_compile_args=FLAGS),
    ],
    cmdclass={"build_ext": BuildExtension},
)
