# Every header alone. The sets have different include paths (see the top CMakeLists.txt).
set_target_properties(dlbridge PROPERTIES
  VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
if(DLBRIDGE_PYTHON)
  set_target_properties(dlbridge_python dlbridge_module PROPERTIES
    VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
  if(nanobind_FOUND)
    set_target_properties(dlbridge_python PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY "HEADERS;nanobind")
    target_include_directories(dlbridge_python SYSTEM INTERFACE $<BUILD_INTERFACE:${NB_DIR}/include>)
  endif()
endif()

# CMake creates the targets of the header sets at the end, in the top folder: only they are still to get
# these options and this launcher. Extensions hide their symbols, as pybind11 does.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wall$<SEMICOLON>-Wextra$<SEMICOLON>-Weffc++$<SEMICOLON>-Werror>)
if(check_only_launcher)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${check_only_launcher})
endif()
