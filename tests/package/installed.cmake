# SPDX-License-Identifier: BSD-3-Clause
# The other ways to an installed dlbridge: without another dlpack.h, by pkg-config, by the Common Package
# Specification, and through the package of a library that includes dlbridge as a subproject.
if(DLBRIDGE_INSTALL)
  # A copy elsewhere; the paths in the files of the installation are relative.
  set(moved ${CMAKE_CURRENT_BINARY_DIR}/moved)
  add_test(NAME package.move COMMAND ${CMAKE_COMMAND} -E copy_directory ${prefix} ${moved})
  set_tests_properties(package.move PROPERTIES FIXTURES_REQUIRED installed FIXTURES_SETUP moved)

  add_package_test(find_package_alone -DWAY=find_package -DCMAKE_PREFIX_PATH=${moved}
    -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF
    -DCMAKE_FIND_USE_SYSTEM_PACKAGE_REGISTRY=OFF -DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM})
  set_tests_properties(package.find_package_alone PROPERTIES FIXTURES_REQUIRED moved
    PASS_REGULAR_EXPRESSION "installed with dlbridge.*ok     the deleter was called once"
    FAIL_REGULAR_EXPRESSION "FAILED")

  # A project may do without dlbridge: find_package reports that there is no dlpack.h, and QUIET nothing.
  function(add_optional_test name says directory)
    add_test(NAME package.${name}
      COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_SOURCE_DIR}/optional
        -B ${CMAKE_CURRENT_BINARY_DIR}/${name} --fresh ${compiler}
        -DCMAKE_PREFIX_PATH=${prefix} -DDLPACK_INCLUDE_DIR=${directory})
    set_tests_properties(package.${name} PROPERTIES FIXTURES_REQUIRED installed
      PASS_REGULAR_EXPRESSION "${says}" FAIL_REGULAR_EXPRESSION "CMake Error|dlpack[.]h.*found: ")
  endfunction()
  add_optional_test(optional_missing "found: 0.*found[ \n]+none[ \n]+in[ \n]+DLPACK_INCLUDE_DIR.*1[.] install"
    ${CMAKE_CURRENT_BINARY_DIR}/missing)
  add_optional_test(optional_found
    "found: 1\nthe target exists.*no[ \n]+component[ \n]+cuda,[ \n]+only[ \n]+python" ${dlpack_directory})

  find_program(DLBRIDGE_PKG_CONFIG NAMES pkg-config pkgconf)
  mark_as_advanced(DLBRIDGE_PKG_CONFIG)
  if(DLBRIDGE_PKG_CONFIG)
    add_package_test(pkg_config -DWAY=pkg-config -DPKG_CONFIG_EXECUTABLE=${DLBRIDGE_PKG_CONFIG}
      -DPREFIX=${moved})
    set_tests_properties(package.pkg_config PROPERTIES FIXTURES_REQUIRED moved)
  endif()
  if(CMAKE_VERSION VERSION_GREATER_EQUAL 4.3)  # which reads such files
    add_package_test(cps -DWAY=find_package -Ddlbridge_DIR=${moved}/share/dlbridge/cps)
    set_tests_properties(package.cps PROPERTIES FIXTURES_REQUIRED moved)
  endif()
endif()

# Without DLBRIDGE_INSTALL the parent exports its target and installs nothing of dlbridge, unless it installs
# the component. With it, dlbridge comes along. Either result is found by a third project.
function(add_exporting_test name)
  add_test(NAME package.${name}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR} -DDLBRIDGE_SOURCE=${PROJECT_SOURCE_DIR}
      -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/${name} "-DCOMPILER=${compiler}" -DGENERATOR=${CMAKE_GENERATOR}
      -DFAKES_DIR=${PROJECT_SOURCE_DIR}/tests/fakes ${ARGN}
      -P ${CMAKE_CURRENT_SOURCE_DIR}/exporting.cmake)
endfunction()
add_exporting_test(export_component -DOPTIONS=-DDLPACK_INCLUDE_DIR=${dlpack_directory} -DCOMPONENT=dlbridge)
add_exporting_test(export_with_install -DOPTIONS=-DDLPACK_INCLUDE_DIR=${dlpack_directory}
  -DDLBRIDGE_INSTALL=ON)
add_exporting_test(export_compiled
  "-DOPTIONS=-DDLPACK_INCLUDE_DIR=${dlpack_directory};-DCOMPILED=ON" -DCOMPONENT=dlbridge)
add_exporting_test(export_own_dlpack -DOPTIONS=-DOWN_DLPACK=${dlpack_directory} -DCOMPONENT=dlbridge)

add_test(NAME package.absolute_folders
  COMMAND ${CMAKE_COMMAND} -DDLBRIDGE_SOURCE=${PROJECT_SOURCE_DIR} -DDLPACK_DIR=${dlpack_directory}
    -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/absolute "-DCOMPILER=${compiler}" -DGENERATOR=${CMAKE_GENERATOR}
    -P ${CMAKE_CURRENT_SOURCE_DIR}/absolute.cmake)
