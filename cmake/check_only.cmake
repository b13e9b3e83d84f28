# SPDX-License-Identifier: BSD-3-Clause
# Sets check_only_launcher to what makes of compiling a mere check without generating code, which takes
# less than half the time. Empty where the compiler always generates it.
set(check_only_launcher)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -fsyntax-only -c -x c++ /dev/null -o /dev/null
  RESULT_VARIABLE check_only_fault OUTPUT_QUIET ERROR_VARIABLE check_only_text)
if(check_only_text MATCHES "failed to rename")  # zig, whose fault check_only.sh removes
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)  # it rejects CMake's options
  set(check_only_fault 0)
endif()
if(check_only_fault EQUAL 0 AND CMAKE_GENERATOR MATCHES "Ninja|Makefiles")
  set(check_only_type gcc)  # as ccache calls it
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(check_only_type clang)
  endif()
  configure_file(${CMAKE_CURRENT_LIST_DIR}/check_only.sh.in
    ${PROJECT_BINARY_DIR}/check_only.sh @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(check_only_launcher ${PROJECT_BINARY_DIR}/check_only.sh --launch)
endif()
