# SPDX-License-Identifier: BSD-3-Clause
# _dlbridge_find_dlpack(): defines the target dlpack::dlpack with the first dlpack.h of version 1, for the
# build of dlbridge and for its installed package. A target dlpack::dlpack that the project made is used
# as it is, and so is DLPACK_INCLUDE_DIR. Otherwise _dlbridge_try_all has the order. The macros of the
# header state its version, as dlpack's own package reports a wrong one.

set(_dlbridge_dlpack_ways
  "  1. install a system package of dlpack 1.0 or newer, or define a target dlpack::dlpack first\n"
  "  2. point to the header: -DDLPACK_INCLUDE_DIR=<directory that has dlpack/dlpack.h>\n"
  "  3. pip install apache-tvm-ffi, which contains it\n"
  "  4. let CMake download it, where there is a network: -DDLBRIDGE_FETCH_DLPACK=ON")
list(JOIN _dlbridge_dlpack_ways "" _dlbridge_dlpack_ways)
set_property(GLOBAL PROPERTY DLBRIDGE_DLPACK_WAYS "${_dlbridge_dlpack_ways}")

# Prints a text, unless dlbridge's package is searched for with QUIET.
function(_dlbridge_state)
  list(JOIN ARGV "" text)
  if(NOT dlbridge_FIND_QUIETLY)
    message(STATUS "${text}")
  endif()
endfunction()

# Stops the build of a project. In dlbridge's package, find_package reports the reason instead.
function(_dlbridge_refuse)
  list(JOIN ARGV "" text)
  if(NOT _dlbridge_is_package)
    message(FATAL_ERROR "${text}")
  endif()
  set_property(GLOBAL PROPERTY DLBRIDGE_DLPACK_REFUSAL "${text}")
endfunction()

# Sets <out> to "major.minor" of the dlpack.h below a directory, and to "" when there is none. Before
# 1.0 the header has one number: 60 stands for 0.6.
function(_dlbridge_read_dlpack_version directory out)
  set(version "")
  if(EXISTS "${directory}/dlpack/dlpack.h")
    file(STRINGS "${directory}/dlpack/dlpack.h" lines
      REGEX "#define DLPACK_((MAJOR|MINOR)_)?VERSION [0-9]+")
    string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
    set(version "0.0")
    if(numbers MATCHES "^[0-9]+;[0-9]+$")
      list(JOIN numbers "." version)
    elseif(numbers MATCHES "^0*([0-9])0$")
      set(version "0.${CMAKE_MATCH_1}")
    endif()
  endif()
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

# Chooses a directory unless another one is chosen, or its header is missing or has another version.
function(_dlbridge_try_dlpack directory origin)
  get_property(chosen GLOBAL PROPERTY DLBRIDGE_DLPACK_INCLUDE_DIR)
  _dlbridge_read_dlpack_version("${directory}" version)
  if(chosen OR version STREQUAL "")
    return()
  endif()
  if(version VERSION_GREATER_EQUAL 1.0 AND version VERSION_LESS 2.0)
    _dlbridge_state("dlpack.h ${version}: ${directory} (${origin})")
    set_property(GLOBAL PROPERTY DLBRIDGE_DLPACK_INCLUDE_DIR "${directory}")
    return()
  endif()
  get_property(passed_over GLOBAL PROPERTY DLBRIDGE_DLPACK_PASSED_OVER)
  string(FIND "${passed_over}" " in ${directory} (" position)
  if(position EQUAL -1)
    set_property(GLOBAL APPEND PROPERTY DLBRIDGE_DLPACK_PASSED_OVER
      "${version} in ${directory} (${origin})")
  endif()
endfunction()

# The include directories of the target dlpack::dlpack.
function(_dlbridge_dlpack_directories out)
  get_target_property(directories dlpack::dlpack INTERFACE_INCLUDE_DIRECTORIES)
  string(REGEX REPLACE "\\$<(BUILD|INSTALL)_INTERFACE:([^>]*)>" "\\2" directories "${directories}")
  set(${out} "${directories}" PARENT_SCOPE)
endfunction()

# Whether the target dlpack::dlpack is that of a package, which only this find_package has defined.
function(_dlbridge_is_replaceable out)
  get_target_property(imported dlpack::dlpack IMPORTED)
  get_target_property(aliased dlpack::dlpack ALIASED_TARGET)
  set(${out} FALSE PARENT_SCOPE)
  if(imported AND NOT aliased)
    set(${out} TRUE PARENT_SCOPE)
  endif()
endfunction()

# Uses a target that the project defined before. Its header cannot be replaced by another one.
function(_dlbridge_use_dlpack_target)
  _dlbridge_dlpack_directories(directories)
  foreach(directory IN LISTS directories)
    _dlbridge_try_dlpack("${directory}" "target dlpack::dlpack")
  endforeach()
  get_property(chosen GLOBAL PROPERTY DLBRIDGE_DLPACK_INCLUDE_DIR)
  get_property(passed_over GLOBAL PROPERTY DLBRIDGE_DLPACK_PASSED_OVER)
  if(passed_over AND NOT chosen)
    list(JOIN passed_over ", " passed_over)
    _dlbridge_refuse("dlbridge needs dlpack.h 1.0 or newer, below 2.0. The target dlpack::dlpack, which "
      "this project defined before it added dlbridge, has ${passed_over}.\n"
      "Give that target a newer header. Or let dlbridge define the target, with a header that it "
      "finds: add dlbridge first, by find_package or add_subdirectory.")
  endif()
endfunction()

# Tries dlpack's own package, which defines the target dlpack::dlpack.
function(_dlbridge_try_dlpack_package)
  find_package(dlpack CONFIG QUIET)
  if(TARGET dlpack::dlpack)
    _dlbridge_is_replaceable(replaceable)
    if(NOT replaceable)  # FetchContent may run a project in place of find_package
      _dlbridge_use_dlpack_target()
      return()
    endif()
    _dlbridge_dlpack_directories(directories)
    foreach(directory IN LISTS directories)
      _dlbridge_try_dlpack("${directory}" "dlpack's package in ${dlpack_DIR}")
    endforeach()
  endif()
endfunction()

# Tries every directory in which CMake searches for headers.
function(_dlbridge_try_search_paths)
  foreach(attempt RANGE 8)
    set(directory)
    find_path(directory dlpack/dlpack.h NO_CACHE)
    if(NOT directory OR directory IN_LIST CMAKE_IGNORE_PATH)
      return()
    endif()
    string(REGEX REPLACE "(.)/$" "\\1" directory "${directory}")
    _dlbridge_try_dlpack("${directory}" "CMake's search path")
    list(APPEND CMAKE_IGNORE_PATH "${directory}")
  endforeach()
endfunction()

# Tries the dlpack.h of an installed apache-tvm-ffi.
function(_dlbridge_try_tvm_ffi)
  if(NOT EXISTS "${DLBRIDGE_TVM_FFI_CONFIG}")  # an isolated build of pip removes what it installed
    unset(DLBRIDGE_TVM_FFI_CONFIG CACHE)
  endif()
  get_filename_component(scripts "${Python_EXECUTABLE}" DIRECTORY)
  find_program(DLBRIDGE_TVM_FFI_CONFIG tvm-ffi-config HINTS "${scripts}")
  mark_as_advanced(DLBRIDGE_TVM_FFI_CONFIG)
  if(NOT DLBRIDGE_TVM_FFI_CONFIG)
    return()
  endif()
  execute_process(COMMAND "${DLBRIDGE_TVM_FFI_CONFIG}" --dlpack-includedir
    OUTPUT_VARIABLE directory OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    _dlbridge_try_dlpack("${directory}" "apache-tvm-ffi")
  endif()
endfunction()

# Sets <out> to the reason why a downloaded header is not used, and to "" when there is none.
function(_dlbridge_check_download directory out)
  _dlbridge_read_dlpack_version("${directory}" version)
  file(SHA256 "${directory}/dlpack/dlpack.h" got)
  string(TOLOWER "${DLBRIDGE_DLPACK_SHA256}" expected)
  set(${out} "" PARENT_SCOPE)
  if(NOT version VERSION_GREATER_EQUAL 1.0)
    set(${out} "what arrived is no dlpack.h 1.x" PARENT_SCOPE)  # such as the page of a proxy
  elseif(expected AND NOT got STREQUAL expected)
    string(CONCAT text "expected a dlpack.h with the SHA256 ${expected}, got one with ${got}. To download "
      "another dlpack.h, set DLBRIDGE_DLPACK_SHA256 to its SHA256. An empty value checks nothing")
    set(${out} "${text}" PARENT_SCOPE)
  endif()
endfunction()

# Downloads dlpack.h. DLBRIDGE_DLPACK_DOWNLOAD then holds the address, and why the download failed.
function(_dlbridge_fetch_dlpack)
  set(DLBRIDGE_DLPACK_URL "https://raw.githubusercontent.com/dmlc/dlpack/v1.3/include/dlpack/dlpack.h"
    CACHE STRING "Where dlpack.h is downloaded from")
  set(DLBRIDGE_DLPACK_SHA256 "62052bef24bd69bb7b52e95428f9e99bd7951783850c36c5f2a41e71fd63c2fc"
    CACHE STRING "The SHA256 that the downloaded dlpack.h must have; empty: any")
  mark_as_advanced(DLBRIDGE_DLPACK_URL DLBRIDGE_DLPACK_SHA256)
  set(directory "${CMAKE_BINARY_DIR}/dlbridge-dlpack-download")
  set(header "${directory}/dlpack/dlpack.h")
  set(code 0)
  if(NOT EXISTS "${header}")
    _dlbridge_state("dlpack.h: none found, downloading ${DLBRIDGE_DLPACK_URL}")
    file(DOWNLOAD "${DLBRIDGE_DLPACK_URL}" "${header}" TLS_VERIFY ON TIMEOUT 60 STATUS status)
    list(POP_FRONT status code)
    string(REGEX REPLACE "^\"|\"$" "" failure "${status}")
  endif()
  if(code EQUAL 0)
    _dlbridge_check_download("${directory}" failure)
  endif()
  if(failure)
    file(REMOVE "${header}")
    set(failure ", which failed: ${failure}")
  endif()
  set_property(GLOBAL PROPERTY DLBRIDGE_DLPACK_DOWNLOAD "${DLBRIDGE_DLPACK_URL}${failure}")
  _dlbridge_try_dlpack("${directory}" "downloaded")
endfunction()

# Sets <out> to sentences that state where a dlpack.h was searched for.
function(_dlbridge_list_attempts out)
  if(DLPACK_INCLUDE_DIR)
    set(${out} "" PARENT_SCOPE)
    return()
  endif()
  get_property(download GLOBAL PROPERTY DLBRIDGE_DLPACK_DOWNLOAD)
  set(tried "It tried, in this order:\n  DLPack's own CMake package\n  the header of an installed dlbridge\n"
    "  CMake's search paths\n  tvm-ffi-config of an installed apache-tvm-ffi\n")
  if(download)
    list(APPEND tried "  a download of ${download}\n")
  else()
    list(APPEND tried "  no download, as DLBRIDGE_FETCH_DLPACK is off\n")
  endif()
  list(JOIN tried "" tried)
  set(${out} "${tried}" PARENT_SCOPE)
endfunction()

# Copies the chosen header into the build folder, and sets <out> to the folder of the copy, which the
# compiler gets by -I: folders of CPATH, and with zig /usr/include, come before those of -isystem.
function(_dlbridge_copy_dlpack directory out)
  set(header "${directory}/dlpack/dlpack.h")
  set(copy "${CMAKE_BINARY_DIR}/dlbridge-dlpack/dlpack/dlpack.h")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
  file(READ "${header}" content)
  # Without warnings, as the headers of -isystem are.
  set(content "#if defined(__GNUC__)\n#pragma GCC system_header\n#endif\n${content}")
  set(former "")
  if(EXISTS "${copy}")
    file(READ "${copy}" former)
  endif()
  if(NOT content STREQUAL former)
    file(WRITE "${copy}" "${content}")
  endif()
  set(${out} "${CMAKE_BINARY_DIR}/dlbridge-dlpack" PARENT_SCOPE)
endfunction()

# Defines the target for the chosen directory. dlpack's own package may have defined it for another.
function(_dlbridge_define_dlpack_target)
  get_property(chosen GLOBAL PROPERTY DLBRIDGE_DLPACK_INCLUDE_DIR)
  if(TARGET dlpack::dlpack)
    _dlbridge_is_replaceable(replaceable)
    _dlbridge_dlpack_directories(former)
    if(NOT replaceable OR chosen IN_LIST former)
      return()
    endif()
  else()
    add_library(dlpack::dlpack INTERFACE IMPORTED GLOBAL)
  endif()
  _dlbridge_copy_dlpack("${chosen}" copy)
  set_target_properties(dlpack::dlpack PROPERTIES
    IMPORTED_NO_SYSTEM ON SYSTEM OFF INTERFACE_INCLUDE_DIRECTORIES "${copy}")
endfunction()

function(_dlbridge_try_all)
  if(DLPACK_INCLUDE_DIR)  # no other directory is tried
    _dlbridge_try_dlpack("${DLPACK_INCLUDE_DIR}" "DLPACK_INCLUDE_DIR")
    return()
  endif()
  _dlbridge_try_dlpack_package()
  # The header in an installed dlbridge, as in its wheel.
  _dlbridge_try_dlpack("${_dlbridge_bundled_include_dir}" "installed with dlbridge")
  get_property(chosen GLOBAL PROPERTY DLBRIDGE_DLPACK_INCLUDE_DIR)
  if(NOT chosen)
    _dlbridge_try_search_paths()
    _dlbridge_try_tvm_ffi()
    get_property(chosen GLOBAL PROPERTY DLBRIDGE_DLPACK_INCLUDE_DIR)
  endif()
  if(NOT chosen AND DLBRIDGE_FETCH_DLPACK)
    _dlbridge_fetch_dlpack()
  endif()
endfunction()

function(_dlbridge_find_dlpack)
  set_property(GLOBAL PROPERTY DLBRIDGE_DLPACK_INCLUDE_DIR "")
  set_property(GLOBAL PROPERTY DLBRIDGE_DLPACK_PASSED_OVER "")
  set_property(GLOBAL PROPERTY DLBRIDGE_DLPACK_DOWNLOAD "")
  set_property(GLOBAL PROPERTY DLBRIDGE_DLPACK_REFUSAL "")
  if(TARGET dlpack::dlpack)
    _dlbridge_use_dlpack_target()
    return()
  endif()
  if(DEFINED CACHE{DLPACK_INCLUDE_DIR})  # with a type, CMake makes a path of the command line absolute
    set(DLPACK_INCLUDE_DIR "" CACHE PATH "The folder that has dlpack/dlpack.h")
  endif()
  if(DLPACK_INCLUDE_DIR AND NOT IS_ABSOLUTE "${DLPACK_INCLUDE_DIR}")
    _dlbridge_refuse("DLPACK_INCLUDE_DIR is a relative path, ${DLPACK_INCLUDE_DIR}. Use an absolute one")
    return()
  endif()
  _dlbridge_try_all()
  get_property(chosen GLOBAL PROPERTY DLBRIDGE_DLPACK_INCLUDE_DIR)
  if(chosen)
    _dlbridge_define_dlpack_target()
  endif()
  get_property(passed_over GLOBAL PROPERTY DLBRIDGE_DLPACK_PASSED_OVER)
  if(passed_over)
    list(JOIN passed_over "\n  " passed_over)
    set(passed_over "It passed over these:\n  ${passed_over}\n")
  endif()
  if(chosen AND passed_over)
    _dlbridge_state("dlbridge needs dlpack.h 1.0 or newer, below 2.0. ${passed_over}")
  elseif(NOT chosen)
    set(location "")
    if(DLPACK_INCLUDE_DIR)
      set(location " in DLPACK_INCLUDE_DIR=${DLPACK_INCLUDE_DIR}")
    endif()
    _dlbridge_list_attempts(attempts)
    get_property(ways GLOBAL PROPERTY DLBRIDGE_DLPACK_WAYS)
    get_property(download GLOBAL PROPERTY DLBRIDGE_DLPACK_DOWNLOAD)
    if(download)  # it has just failed
      string(REGEX REPLACE "\n  4[.].*" "" ways "${ways}")
    endif()
    _dlbridge_refuse("dlbridge needs dlpack.h 1.0 or newer, below 2.0, and found none${location}.\n"
      "${attempts}${passed_over}Use one of these ways:\n${ways}")
  endif()
endfunction()
