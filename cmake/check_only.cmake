# Sets check_only_launcher to what makes of compiling a mere check without generating code, which takes
# less than half the time. Empty where the compiler always generates it, as the clang++ of zig does,
# which precompiles no headers either.
set(check_only_launcher)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -fsyntax-only -x c++ /dev/null
  RESULT_VARIABLE check_only_fault OUTPUT_QUIET ERROR_QUIET)
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
if(NOT check_only_fault EQUAL 0)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
