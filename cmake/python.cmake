# SPDX-License-Identifier: BSD-3-Clause
# Finds the interpreter for test scripts; for the module its headers and pybind11; and nanobind for tests and
# benchmarks. The top CMakeLists.txt includes this file, so that all folders use the same ones.
set(components Interpreter)
if(DLBRIDGE_PYTHON)
  list(APPEND components Development.Module)
endif()
find_package(Python 3.9 COMPONENTS ${components})
if(NOT Python_Interpreter_FOUND OR Python_VERSION VERSION_LESS 3.9)
  set(python_found none)
  if(Python_EXECUTABLE)
    set(python_found "${Python_EXECUTABLE}, which is ${Python_VERSION}")
  endif()
  message(FATAL_ERROR "dlbridge needs Python 3.9 or newer, and found ${python_found}. "
    "Use one of these ways:\n"
    "  1. name another one: -DPython_EXECUTABLE=<path of a newer python3>\n"
    "  2. build without it: -DDLBRIDGE_PYTHON=OFF -DDLBRIDGE_TESTS=OFF -DDLBRIDGE_BENCH=OFF")
elseif(NOT Python_FOUND)
  message(FATAL_ERROR "The Python module of dlbridge needs Python.h of ${Python_EXECUTABLE}, and found none. "
    "Use one of these ways:\n"
    "  1. install it, on Debian and Ubuntu by "
    "apt-get install python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}-dev\n"
    "  2. name a Python that has it: -DPython_EXECUTABLE=<path>, or its own pip\n"
    "  3. build without the module: -DDLBRIDGE_PYTHON=OFF")
endif()
if(DLBRIDGE_PYTHON)
  if(NOT pybind11_DIR)
    execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
      OUTPUT_VARIABLE pybind11_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  find_package(pybind11 3.0 CONFIG QUIET)
  if(NOT pybind11_FOUND)
    set(pybind11_found none)
    if(pybind11_CONSIDERED_VERSIONS)
      list(JOIN pybind11_CONSIDERED_VERSIONS ", " pybind11_found)
    endif()
    message(FATAL_ERROR "The Python module of dlbridge needs pybind11 3.0 or newer, and found "
      "${pybind11_found}. Use one of these ways:\n"
      "  1. install it: ${Python_EXECUTABLE} -m pip install \"pybind11>=3.0\"\n"
      "  2. name its CMake folder: -Dpybind11_DIR=<folder>\n"
      "  3. build without the module: -DDLBRIDGE_PYTHON=OFF")
  endif()
endif()
if(DLBRIDGE_PYTHON AND (DLBRIDGE_TESTS OR DLBRIDGE_BENCH))
  if(NOT nanobind_DIR)
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
      OUTPUT_VARIABLE nanobind_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  find_package(nanobind CONFIG QUIET)  # optional: for the tests and benchmarks of its headers
endif()
