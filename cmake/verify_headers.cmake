# Every header alone. The two sets have different include paths (see the top CMakeLists.txt).
set_target_properties(dlbridge PROPERTIES
  VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
if(DLBRIDGE_PYTHON)
  set_target_properties(dlbridge_python PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endif()

# CMake creates the targets of the header sets at the end, in the top folder: only they are still to get
# this launcher.
if(check_only_launcher)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${check_only_launcher})
endif()
