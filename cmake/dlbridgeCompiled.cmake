# SPDX-License-Identifier: BSD-3-Clause
# _dlbridge_define_compiled(<include directory>): defines the targets whose units do not compile the bodies of
# dlbridge's functions. The static libraries with the bodies are built in the project that links them, for
# its Python and with its flags: a shared one would make extension modules share state.
#   dlbridge::compiled         as dlbridge::dlbridge
#   dlbridge::python_compiled  as dlbridge::python; the project finds Python before or after dlbridge
# Bodies for extensions with the limited API: the project sets DLBRIDGE_LIMITED_API to the oldest CPython that is
# to load them, such as 3.11, before it adds or finds dlbridge, and defines Py_LIMITED_API for its own units.
cmake_policy(VERSION 3.24)  # also in a project whose policies are older, which would not hide symbols

function(_dlbridge_define_compiled include_directory)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(TARGET dlbridge_compiled OR NOT CXX IN_LIST languages)
    return()
  endif()
  set(sources "${include_directory}/dlbridge/src")
  add_library(dlbridge_compiled STATIC EXCLUDE_FROM_ALL "${sources}/core.cpp" "${sources}/devices.cpp")
  add_library(dlbridge_python_compiled STATIC EXCLUDE_FROM_ALL "${sources}/python.cpp")
  add_library(dlbridge::compiled ALIAS dlbridge_compiled)
  add_library(dlbridge::python_compiled ALIAS dlbridge_python_compiled)
  target_compile_definitions(dlbridge_compiled PUBLIC DLBRIDGE_COMPILED)
  target_link_libraries(dlbridge_compiled PUBLIC dlbridge::dlbridge)
  if(DLBRIDGE_LIMITED_API)
    if(NOT DLBRIDGE_LIMITED_API MATCHES "^3\\.([0-9]+)$" OR CMAKE_MATCH_1 LESS 10)
      message(FATAL_ERROR "DLBRIDGE_LIMITED_API is ${DLBRIDGE_LIMITED_API}: expected the oldest CPython that is to "
        "load the extension, 3.10 or newer, such as 3.11")
    endif()
    math(EXPR limited "(3 << 24) | (${CMAKE_MATCH_1} << 16)" OUTPUT_FORMAT HEXADECIMAL)
    target_compile_definitions(dlbridge_python_compiled PRIVATE Py_LIMITED_API=${limited})
  endif()
  target_link_libraries(dlbridge_python_compiled PUBLIC dlbridge_compiled dlbridge::python)
  foreach(library dlbridge_compiled dlbridge_python_compiled)
    set_target_properties(${library} PROPERTIES
      POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    # The linker keeps the functions that the project calls.
    target_compile_options(${library} PRIVATE
      $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-ffunction-sections;-fdata-sections>)
  endforeach()
  # A unit of each target that links the library, as only this target is sure to find pybind11.
  target_sources(dlbridge_python_compiled INTERFACE "${sources}/pybind11.cpp")
  target_link_options(dlbridge_compiled INTERFACE $<$<PLATFORM_ID:Linux>:LINKER:--gc-sections>)

  # CMake shows the targets of find_package(Python) to the directory of the call and those below it. So each
  # directory that contains this one links Python at its end, if it has found it.
  set(directory "${CMAKE_CURRENT_SOURCE_DIR}")
  while(directory)
    cmake_language(DEFER DIRECTORY "${directory}" CALL _dlbridge_link_python)
    get_directory_property(directory DIRECTORY "${directory}" PARENT_DIRECTORY)
  endwhile()
endfunction()

# Links the Python of the current directory to dlbridge::python_compiled, once. If there is none at the end of
# the project, targets that link dlbridge::python_compiled stop CMake with the remedy, as the name of a missing
# target. Other projects need no Python, so that dlbridge_python_compiled itself lacks nothing.
function(_dlbridge_link_python)
  get_target_property(has_python dlbridge_python_compiled DLBRIDGE_HAS_PYTHON)
  if(has_python)
    return()
  endif()
  foreach(python Python::Module Python3::Module Python::Python Python3::Python pybind11::python_headers)
    if(TARGET ${python})
      set_target_properties(dlbridge_python_compiled PROPERTIES DLBRIDGE_HAS_PYTHON ON)
      target_link_libraries(dlbridge_python_compiled PRIVATE ${python})
      return()
    endif()
  endforeach()
  if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
    string(CONCAT remedy "dlbridge::python_compiled requires Python.h: call find_package(Python COMPONENTS "
      "Interpreter Development.Module) in the directory that adds dlbridge, or above it")
    set(is_user "$<NOT:$<STREQUAL:$<TARGET_PROPERTY:NAME>,dlbridge_python_compiled>>")
    target_link_libraries(dlbridge_python_compiled INTERFACE "$<${is_user}:${remedy}>")
  endif()
endfunction()
