# SPDX-License-Identifier: BSD-3-Clause
# Installs headers, dlpack.h and package files. A wheel contains them in the Python package, so that building
# an extension needs no network. As a subproject without DLBRIDGE_INSTALL nothing is installed by default, but
# the rules exist: the parent can export targets that link dlbridge, and install the component dlbridge.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(include_directory ${CMAKE_INSTALL_INCLUDEDIR})
set(data_directory ${CMAKE_INSTALL_DATADIR})
# A folder of its own: dlpack's package may install the same file among the headers, in another version.
set(dlpack_destination ${CMAKE_INSTALL_DATADIR}/dlbridge/include)
if(SKBUILD AND PROJECT_IS_TOP_LEVEL)
  string(REPLACE "-" "_" python_package ${SKBUILD_PROJECT_NAME})  # dlbridge or dlbridge_headers
  set(include_directory ${python_package}/include)
  set(data_directory ${python_package}/share)
  set(dlpack_destination ${include_directory})
endif()
set(package_directory ${data_directory}/cmake/dlbridge)
set(pkgconfig_directory ${data_directory}/pkgconfig)
set(component COMPONENT dlbridge)
if(NOT DLBRIDGE_INSTALL)
  list(APPEND component EXCLUDE_FROM_ALL)
endif()

install(TARGETS dlbridge dlbridge_python
  EXPORT dlbridgeTargets INCLUDES DESTINATION ${include_directory})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/dlbridge DESTINATION ${include_directory} ${component})
install(EXPORT dlbridgeTargets NAMESPACE dlbridge:: DESTINATION ${package_directory} ${component})
# For a parent that exports its build folder. A target dlpack::dlpack of the project itself is in no export.
get_target_property(dlpack_is_imported dlpack::dlpack IMPORTED)
if(dlpack_is_imported)
  export(EXPORT dlbridgeTargets NAMESPACE dlbridge:: FILE ${CMAKE_CURRENT_BINARY_DIR}/dlbridgeTargets.cmake)
endif()

set(BUNDLED_INCLUDE_DIR ${dlpack_destination})
get_property(dlpack_directory GLOBAL PROPERTY DLBRIDGE_DLPACK_INCLUDE_DIR)  # empty if nobody knows it
if(DLBRIDGE_INSTALL_DLPACK AND dlpack_directory)
  install(FILES ${dlpack_directory}/dlpack/dlpack.h
    DESTINATION ${dlpack_destination}/dlpack ${component})
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/dlbridgeConfig.cmake.in dlbridgeConfig.cmake
  INSTALL_DESTINATION ${package_directory} PATH_VARS BUNDLED_INCLUDE_DIR include_directory)
write_basic_package_version_file(dlbridgeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/dlbridgeConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/dlbridgeConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/dlbridgeCompiled.cmake
  ${CMAKE_CURRENT_LIST_DIR}/dlbridgeFindDlpack.cmake
  DESTINATION ${package_directory} ${component})

if(NOT SKBUILD)  # a wheel has them in its .dist-info
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
    DESTINATION ${data_directory}/licenses/dlbridge ${component})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSES/Apache-2.0.txt
    DESTINATION ${data_directory}/licenses/dlbridge/LICENSES ${component})
endif()

# Sets <out> to a folder as dlbridge.pc names it: relative to the file, unless one of them is absolute.
function(_dlbridge_pkgconfig_path folder out)
  set(path ${folder})
  if(IS_ABSOLUTE "${pkgconfig_directory}" AND NOT IS_ABSOLUTE "${folder}")
    set(path "${CMAKE_INSTALL_PREFIX}/${folder}")
  elseif(NOT IS_ABSOLUTE "${folder}")
    file(RELATIVE_PATH path "/${pkgconfig_directory}" "/${folder}")
    set(path "\${pcfiledir}/${path}")
  endif()
  set(${out} "${path}" PARENT_SCOPE)
endfunction()
_dlbridge_pkgconfig_path(${include_directory} pkgconfig_include)
set(pkgconfig_flags -I\${includedir})
if(DLBRIDGE_INSTALL_DLPACK AND NOT dlpack_destination STREQUAL include_directory)
  _dlbridge_pkgconfig_path(${dlpack_destination} pkgconfig_dlpack)
  set(pkgconfig_flags "-I${pkgconfig_dlpack} ${pkgconfig_flags}")
endif()
set(pkgconfig_libs "")
if(CMAKE_DL_LIBS AND NOT SKBUILD)  # a wheel is for every platform, and its extensions need no -ldl
  set(pkgconfig_libs -l${CMAKE_DL_LIBS})
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/dlbridge.pc.in dlbridge.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/dlbridge.pc DESTINATION ${pkgconfig_directory} ${component})

# The same in the Common Package Specification, for tools that read it. find_package prefers such a file to
# dlbridgeConfig.cmake, and would lose dlbridge::compiled and the search for dlpack.h. So it is in a folder where
# find_package does not search by itself.
set(cps_directory ${data_directory}/dlbridge/cps)
if(NOT SKBUILD AND NOT IS_ABSOLUTE "${include_directory}" AND NOT IS_ABSOLUTE "${data_directory}")
  set(cps_includes "\"@prefix@/${include_directory}\"")
  if(DLBRIDGE_INSTALL_DLPACK)
    string(PREPEND cps_includes "\"@prefix@/${dlpack_destination}\", ")
  endif()
  set(cps_libraries "")
  if(CMAKE_DL_LIBS)
    set(cps_libraries "\"${CMAKE_DL_LIBS}\"")
  endif()
  set(prefix @prefix@)  # stays as it is
  configure_file(${CMAKE_CURRENT_LIST_DIR}/dlbridge.cps.in dlbridge.cps @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/dlbridge.cps DESTINATION ${cps_directory} ${component})
endif()
