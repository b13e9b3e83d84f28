# SPDX-License-Identifier: BSD-3-Clause
# Every header alone, with its bodies and without them (DLBRIDGE_COMPILED), in sets with different include
# paths; and the sources of the bodies. Each bridge but one needs a library that may not be here; tests/bridges
# compiles those that it can.
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

# Adds a set of headers, and the same without their bodies, as <name> and <name>_compiled.
function(add_header_set name library)
  foreach(set IN ITEMS ${name} ${name}_compiled)
    add_library(${set} INTERFACE)
    target_link_libraries(${set} INTERFACE ${library})
    target_sources(${set} INTERFACE FILE_SET HEADERS BASE_DIRS ${include_folder} FILES ${ARGN})
    set_target_properties(${set} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endforeach()
  target_compile_definitions(${name}_compiled INTERFACE DLBRIDGE_COMPILED)
endfunction()

# CMake creates the targets of the header sets at the end, in the top folder: only they and the sources are
# still to get these options. Extensions hide their symbols, as pybind11 does.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wall$<SEMICOLON>-Wextra$<SEMICOLON>-Weffc++$<SEMICOLON>-Werror>)
set(sources core devices)
set(library dlbridge)
add_header_set(dlbridge_core_headers dlbridge ${core_headers})
if(DLBRIDGE_PYTHON)
  if(nanobind_FOUND)
    list(APPEND python_headers ${nanobind_headers})
    # Also for the tests: without warnings of nanobind's headers.
    target_include_directories(dlbridge_python SYSTEM INTERFACE $<BUILD_INTERFACE:${NB_DIR}/include>)
  endif()
  add_header_set(dlbridge_python_headers dlbridge_python ${python_headers})
  set_target_properties(dlbridge_module PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  list(APPEND sources python pybind11)
  set(library dlbridge_python)
endif()
list(TRANSFORM sources REPLACE "(.+)" "${folder}/src/\\1.cpp")
add_library(dlbridge_sources OBJECT EXCLUDE_FROM_ALL ${sources})
target_link_libraries(dlbridge_sources PRIVATE ${library})

# The headers generate no code.
if(check_only_launcher)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${check_only_launcher})
endif()
