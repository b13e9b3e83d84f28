# Finds the interpreter for test scripts and, for the module, its headers; and pybind11 and nanobind for tests
# and benchmarks. The top CMakeLists.txt includes this file, so that all folders use the same ones.
set(components Interpreter)
if(DLBRIDGE_PYTHON)
  list(APPEND components Development.Module)
endif()
find_package(Python 3.9 REQUIRED COMPONENTS ${components})
if(DLBRIDGE_PYTHON AND (DLBRIDGE_TESTS OR DLBRIDGE_BENCH))
  if(NOT pybind11_DIR)
    execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
      OUTPUT_VARIABLE pybind11_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  find_package(pybind11 3.0 CONFIG REQUIRED)
  if(NOT nanobind_DIR)
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
      OUTPUT_VARIABLE nanobind_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  find_package(nanobind CONFIG QUIET)  # optional: for the tests and benchmarks of its headers
endif()
