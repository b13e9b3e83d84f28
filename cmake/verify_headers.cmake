# Every header alone. The two sets have different include paths (see the top CMakeLists.txt).
set_target_properties(dlbridge PROPERTIES
  VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
if(DLBRIDGE_PYTHON)
  set_target_properties(dlbridge_python PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endif()

# No code is generated where the compiler can do without; the clang++ of zig cannot. CMake creates the
# targets of the header sets at the end, in the top folder: only they are still to get this launcher.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -fsyntax-only -x c++ /dev/null
  RESULT_VARIABLE check_only_fault OUTPUT_QUIET ERROR_QUIET)
if(check_only_fault EQUAL 0 AND CMAKE_GENERATOR MATCHES "Ninja|Makefiles")
  string(TOLOWER ${CMAKE_CXX_COMPILER_ID} check_only_type)
  string(REPLACE gnu gcc check_only_type ${check_only_type})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/check_only.sh.in
    ${PROJECT_BINARY_DIR}/check_only.sh @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_BINARY_DIR}/check_only.sh --launch)
endif()
