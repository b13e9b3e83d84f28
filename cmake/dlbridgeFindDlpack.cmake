# dlbridge_find_dlpack(): defines the target dlpack::dlpack with the first dlpack.h of 1.0 or newer.
#
# When DLPACK_INCLUDE_DIR is set, only that directory is used. Otherwise the function tries, in this
# order: a target dlpack::dlpack or dlpack's own package, the header that an installed dlbridge contains,
# CMake's default search, an installed apache-tvm-ffi, and a download if DLBRIDGE_FETCH_DLPACK is on.
#
# The build of dlbridge and its installed package file both include this file. It does not pass a version
# to find_package, because dlpack's own package reports a wrong one. It reads the macros of the header.

set(_dlbridge_dlpack_ways
  "  1. install the dlpack package, or add its project first, so that there is a target dlpack::dlpack\n"
  "  2. point to the header: -DDLPACK_INCLUDE_DIR=<directory that has dlpack/dlpack.h>\n"
  "  3. pip install apache-tvm-ffi, which contains it\n"
  "  4. let CMake download it: -DDLBRIDGE_FETCH_DLPACK=ON")
list(JOIN _dlbridge_dlpack_ways "" _dlbridge_dlpack_ways)
set_property(GLOBAL PROPERTY DLBRIDGE_DLPACK_WAYS "${_dlbridge_dlpack_ways}")

# Sets <out> to "major.minor" of the dlpack.h below a directory, to "" when there is none, and to "0"
# for a header before 1.0.
function(_dlbridge_read_dlpack_version directory out)
  set(version "")
  if(EXISTS "${directory}/dlpack/dlpack.h")
    file(STRINGS "${directory}/dlpack/dlpack.h" lines REGEX "#define DLPACK_(MAJOR|MINOR)_VERSION [0-9]+")
    string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
    list(LENGTH numbers count)
    set(version "0")
    if(count EQUAL 2)
      list(JOIN numbers "." version)
    endif()
  endif()
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

# Defines the target for a directory, unless its header is missing or too old.
function(_dlbridge_try_dlpack directory origin)
  if(TARGET dlpack::dlpack OR NOT directory)
    return()
  endif()
  _dlbridge_read_dlpack_version("${directory}" version)
  if(version VERSION_GREATER_EQUAL 1.0)
    message(STATUS "dlpack.h ${version}: ${directory} (${origin})")
    add_library(dlpack::dlpack INTERFACE IMPORTED GLOBAL)
    target_include_directories(dlpack::dlpack SYSTEM INTERFACE "${directory}")
    set_property(GLOBAL PROPERTY DLBRIDGE_DLPACK_INCLUDE_DIR "${directory}")
  elseif(NOT version STREQUAL "")
    message(STATUS "dlpack.h below 1.0 ignored: ${directory} (${origin})")
  endif()
endfunction()

# Uses a target of the surrounding project, or dlpack's own package.
function(_dlbridge_try_dlpack_package)
  find_package(dlpack CONFIG QUIET)
  if(NOT TARGET dlpack::dlpack)
    return()
  endif()
  get_target_property(directories dlpack::dlpack INTERFACE_INCLUDE_DIRECTORIES)
  foreach(directory IN LISTS directories)
    string(REGEX REPLACE "^\\$<(BUILD|INSTALL)_INTERFACE:(.*)>$" "\\2" directory "${directory}")
    _dlbridge_read_dlpack_version("${directory}" version)
    if(version VERSION_GREATER_EQUAL 1.0)
      message(STATUS "dlpack.h ${version}: ${directory} (target dlpack::dlpack)")
      set_property(GLOBAL PROPERTY DLBRIDGE_DLPACK_INCLUDE_DIR "${directory}")
    elseif(NOT version STREQUAL "")
      message(FATAL_ERROR "dlbridge needs dlpack.h 1.0 or newer, and the target dlpack::dlpack of "
        "this project has an older one in ${directory}. Update that package, or hide it from "
        "dlbridge with -DCMAKE_DISABLE_FIND_PACKAGE_dlpack=ON.")
    endif()
  endforeach()
endfunction()

# Uses the dlpack.h of an installed apache-tvm-ffi.
function(_dlbridge_try_tvm_ffi)
  find_program(DLBRIDGE_TVM_FFI_CONFIG tvm-ffi-config)
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

# Downloads dlpack.h. The CMake files of DLPack are not used.
function(_dlbridge_fetch_dlpack)
  include(FetchContent)
  get_property(ways GLOBAL PROPERTY DLBRIDGE_DLPACK_WAYS)
  message(STATUS "dlpack.h: none found, downloading v1.3. If that fails:\n${ways}")
  FetchContent_Declare(dlbridge_dlpack
    GIT_REPOSITORY https://github.com/dmlc/dlpack.git
    GIT_TAG v1.3
    GIT_SHALLOW ON
    SOURCE_SUBDIR no-cmake-project-here)
  FetchContent_MakeAvailable(dlbridge_dlpack)
  _dlbridge_try_dlpack("${dlbridge_dlpack_SOURCE_DIR}/include" "downloaded")
endfunction()

function(dlbridge_find_dlpack)
  if(DLPACK_INCLUDE_DIR)  # no other directory is tried
    _dlbridge_try_dlpack("${DLPACK_INCLUDE_DIR}" "DLPACK_INCLUDE_DIR")
  else()
    _dlbridge_try_dlpack_package()
    # The header in an installed dlbridge, as in its wheel.
    _dlbridge_try_dlpack("${DLBRIDGE_BUNDLED_INCLUDE_DIR}" "installed with dlbridge")
    if(NOT TARGET dlpack::dlpack)
      find_path(directory dlpack/dlpack.h NO_CACHE)
      _dlbridge_try_dlpack("${directory}" "system")
    endif()
    if(NOT TARGET dlpack::dlpack)
      _dlbridge_try_tvm_ffi()
    endif()
    if(NOT TARGET dlpack::dlpack AND DLBRIDGE_FETCH_DLPACK)
      _dlbridge_fetch_dlpack()
    endif()
  endif()
  if(NOT TARGET dlpack::dlpack)
    set(location "")
    if(DLPACK_INCLUDE_DIR)
      set(location " in DLPACK_INCLUDE_DIR=${DLPACK_INCLUDE_DIR}")
    endif()
    get_property(ways GLOBAL PROPERTY DLBRIDGE_DLPACK_WAYS)
    message(FATAL_ERROR "dlbridge needs dlpack.h 1.0 or newer and found none${location}. Use one of these ways:\n${ways}")
  endif()
endfunction()
