# SPDX-License-Identifier: BSD-3-Clause
# What is stated where something is missing that a build requires. docs/howto/builds.md lists the messages.
set(python_include ${Python_INCLUDE_DIRS})  # one folder, or none without the module
function(add_requirement_test name)
  add_test(NAME package.requires_${name}
    COMMAND ${CMAKE_COMMAND} -DCASE=${name} -DSOURCE=${PROJECT_SOURCE_DIR}
      -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/requires_${name} -DGENERATOR=${CMAKE_GENERATOR}
      -DMAKE_PROGRAM=${CMAKE_MAKE_PROGRAM} -DCOMPILER=${CMAKE_CXX_COMPILER} -DPYTHON=${Python_EXECUTABLE}
      -DPYTHON_INCLUDE_DIR=${python_include} -DDLPACK_DIR=${dlpack_directory}
      -P ${CMAKE_CURRENT_SOURCE_DIR}/requirements.cmake)
endfunction()
foreach(name compiler working_compiler dlpack python_version)
  add_requirement_test(${name})
endforeach()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # which takes the version of an old one
  add_requirement_test(cpp17)
endif()
if(TARGET dlbridge_core)
  add_requirement_test(python_headers)
  add_requirement_test(pybind11)
endif()

# What scikit-build-core states, which CTest's Python may lack, and what the page states.
add_test(NAME package.requires_packages
  COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/check_requirements.py ${PROJECT_SOURCE_DIR})
set_tests_properties(package.requires_packages PROPERTIES SKIP_RETURN_CODE 77)
