# SPDX-License-Identifier: BSD-3-Clause
# Every header alone, in sets with different include paths. Each bridge but one needs a library that
# may not be here; tests/bridges compiles those that it can.
set(include_folder ${PROJECT_SOURCE_DIR}/include)
set(folder ${include_folder}/dlbridge)
file(GLOB core_headers CONFIGURE_DEPENDS
  ${folder}/*.hpp ${folder}/types/*.hpp ${folder}/runtime/*.hpp ${folder}/detail/*.hpp
  ${folder}/runtime/detail/*.hpp ${folder}/bridges/std.hpp)
file(GLOB_RECURSE python_headers CONFIGURE_DEPENDS ${folder}/python/*.hpp)
file(GLOB_RECURSE nanobind_headers CONFIGURE_DEPENDS ${folder}/python/nanobind/*.hpp)
list(APPEND nanobind_headers ${folder}/nanobind.hpp)
list(APPEND python_headers ${folder}/python.hpp ${folder}/pybind11.hpp)
list(REMOVE_ITEM core_headers ${python_headers} ${nanobind_headers})
list(REMOVE_ITEM python_headers ${nanobind_headers})

add_library(dlbridge_core_headers INTERFACE)
target_link_libraries(dlbridge_core_headers INTERFACE dlbridge)
target_sources(dlbridge_core_headers INTERFACE
  FILE_SET HEADERS BASE_DIRS ${include_folder} FILES ${core_headers})
set_target_properties(dlbridge_core_headers PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
if(DLBRIDGE_PYTHON)
  add_library(dlbridge_python_headers INTERFACE)
  target_link_libraries(dlbridge_python_headers INTERFACE dlbridge_python)
  if(nanobind_FOUND)
    list(APPEND python_headers ${nanobind_headers})
    # Also for the tests: without warnings of nanobind's headers.
    target_include_directories(dlbridge_python SYSTEM INTERFACE $<BUILD_INTERFACE:${NB_DIR}/include>)
  endif()
  target_sources(dlbridge_python_headers INTERFACE
    FILE_SET HEADERS BASE_DIRS ${include_folder} FILES ${python_headers})
  set_target_properties(dlbridge_python_headers dlbridge_module PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endif()

# CMake creates the targets of the header sets at the end, in the top folder: only they are still to get
# these options and this launcher. Extensions hide their symbols, as pybind11 does.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wall$<SEMICOLON>-Wextra$<SEMICOLON>-Weffc++$<SEMICOLON>-Werror>)
if(check_only_launcher)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${check_only_launcher})
endif()
