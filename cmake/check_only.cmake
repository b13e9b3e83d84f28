# Sets check_only_launcher to what makes of compiling a mere check without generating code, which takes
# less than half the time. Empty where the compiler always generates it, as the clang++ of zig does.
set(check_only_launcher)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -fsyntax-only -x c++ /dev/null
  RESULT_VARIABLE check_only_fault OUTPUT_QUIET ERROR_QUIET)
if(check_only_fault EQUAL 0 AND CMAKE_GENERATOR MATCHES "Ninja|Makefiles")
  string(TOLOWER ${CMAKE_CXX_COMPILER_ID} check_only_type)
  string(REPLACE gnu gcc check_only_type ${check_only_type})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/check_only.sh.in
    ${PROJECT_BINARY_DIR}/check_only.sh @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(check_only_launcher ${PROJECT_BINARY_DIR}/check_only.sh --launch)
endif()
