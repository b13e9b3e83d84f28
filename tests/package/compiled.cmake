# SPDX-License-Identifier: BSD-3-Clause
# The targets with the compiled bodies, in a program and an extension, from every way to dlbridge; Python is
# found before dlbridge or after it.
if(NOT DLBRIDGE_PYTHON)
  return()
endif()
set(python_options -DPython_EXECUTABLE=${Python_EXECUTABLE})

function(add_compiled_test name order)
  add_project_test(${name} ${consumer} "${run_ctest}" -DCOMPILED=ON ${python_options}
    -DFIND_${order}=${consumer}/find_python.cmake -DFAKES_DIR=${PROJECT_SOURCE_DIR}/tests/fakes ${ARGN})
endfunction()

if(DLBRIDGE_INSTALL)
  add_compiled_test(compiled_find_package AFTER -DWAY=find_package -DCMAKE_PREFIX_PATH=${moved}
    -DDLPACK_INCLUDE_DIR=${dlpack_directory})
  set_tests_properties(package.compiled_find_package PROPERTIES FIXTURES_REQUIRED moved)
endif()
set(from_source -DDLBRIDGE_SOURCE=${PROJECT_SOURCE_DIR} -DDLPACK_INCLUDE_DIR=${dlpack_directory})
add_compiled_test(compiled_add_subdirectory AFTER -DWAY=add_subdirectory ${from_source})
add_compiled_test(compiled_fetch_content BEFORE -DWAY=FetchContent ${from_source})
add_compiled_test(compiled_limited AFTER -DWAY=add_subdirectory ${from_source} -DDLBRIDGE_LIMITED_API=3.11)
add_compiled_test(compiled_too_limited AFTER -DWAY=add_subdirectory ${from_source} -DDLBRIDGE_LIMITED_API=3.9)
set_tests_properties(package.compiled_too_limited PROPERTIES
  PASS_REGULAR_EXPRESSION "DLBRIDGE_LIMITED_API is 3[.]9: expected the oldest CPython")
if(DLBRIDGE_WHEEL_CMAKE_DIR)
  add_compiled_test(wheel_compiled BEFORE -DWAY=find_package -Ddlbridge_DIR=${DLBRIDGE_WHEEL_CMAKE_DIR})
endif()
if(DLBRIDGE_HEADERS_CMAKE_DIR)
  add_compiled_test(headers_compiled AFTER -DWAY=find_package -Ddlbridge_DIR=${DLBRIDGE_HEADERS_CMAKE_DIR})
endif()

# Without Python, CMake stops with a call of find_package, which a second run makes.
add_test(NAME package.compiled_without_python
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${consumer} -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/compiled_without_python
    "-DOPTIONS=-G;${CMAKE_GENERATOR};${compiler};${python_options};${from_source};-DWAY=add_subdirectory;\
-DFAKES_DIR=${PROJECT_SOURCE_DIR}/tests/fakes;-DCOMPILED=ON"
    -P ${CMAKE_CURRENT_SOURCE_DIR}/without_python.cmake)
