# SPDX-License-Identifier: BSD-3-Clause
# Enables C++, unless the project that includes dlbridge has enabled it. Stops if there is no compiler, or if
# it has no C++17. The messages of CMake do not state what to install.
string(CONCAT compiler_ways "Use one of these ways:\n"
  "  1. install one, on Debian and Ubuntu by apt-get install g++\n"
  "  2. name one: set the environment variable CXX to its path, and run CMake with --fresh")

if(NOT CMAKE_CXX_COMPILER_LOADED AND NOT DEFINED CMAKE_CXX_COMPILER)
  include(CheckLanguage)
  check_language(CXX)
  set(compiler_works ${CMAKE_CXX_COMPILER})
  # So that a later run searches again, and enable_language reads the arguments in CXX="zig c++".
  unset(CMAKE_CXX_COMPILER CACHE)
  unset(CMAKE_CXX_COMPILER)
  if(NOT compiler_works)
    separate_arguments(compiler_name NATIVE_COMMAND "$ENV{CXX}")
    set(compiler_origin "on PATH")
    if(compiler_name)
      list(GET compiler_name 0 compiler_name)
      set(compiler_origin "on PATH (CXX is ${compiler_name})")  # pip's build may have set CXX
    else()
      set(compiler_name c++ g++ clang++ CC icpx)
    endif()
    find_program(compiler_program NAMES ${compiler_name} NO_CMAKE_SYSTEM_PATH NO_CACHE)
    if(NOT compiler_program)
      message(FATAL_ERROR "dlbridge needs a C++17 compiler, and CMake found none ${compiler_origin}. "
        "${compiler_ways}")
    endif()
    # Only a warning, as the check ignores CMAKE_CXX_FLAGS. CMake stops below with the output of the compiler.
    message(WARNING "dlbridge needs a C++17 compiler, and ${compiler_program} cannot build a program. "
      "${compiler_ways}")
  endif()
endif()
enable_language(CXX)

if(NOT cxx_std_17 IN_LIST CMAKE_CXX_COMPILE_FEATURES)
  message(FATAL_ERROR "dlbridge needs a C++17 compiler, and ${CMAKE_CXX_COMPILER}, which is "
    "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, has no C++17. "
    "${compiler_ways}")
endif()
