# Finds the interpreter for test scripts and, for the module, its headers and pybind11. The top
# CMakeLists.txt includes this file, so that all folders use the same ones.
set(components Interpreter)
if(DLBRIDGE_PYTHON)
  list(APPEND components Development.Module)
endif()
find_package(Python 3.9 REQUIRED COMPONENTS ${components})
if(DLBRIDGE_PYTHON)
  if(NOT pybind11_DIR)
    execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
      OUTPUT_VARIABLE pybind11_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  find_package(pybind11 3.0 CONFIG REQUIRED)
endif()
