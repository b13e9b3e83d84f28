# Installs headers and package files. A wheel contains them in the Python package, with the dlpack.h of
# its build, so that building an extension needs no network.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(include_directory ${CMAKE_INSTALL_INCLUDEDIR})
set(package_directory ${CMAKE_INSTALL_DATADIR}/cmake/dlbridge)
if(SKBUILD)
  set(include_directory dlbridge/include)
  set(package_directory dlbridge/share/cmake/dlbridge)
  get_property(dlpack_directory GLOBAL PROPERTY DLBRIDGE_DLPACK_INCLUDE_DIR)
  install(FILES ${dlpack_directory}/dlpack/dlpack.h DESTINATION ${include_directory}/dlpack)
endif()

install(TARGETS dlbridge dlbridge_python
  EXPORT dlbridgeTargets
  FILE_SET HEADERS DESTINATION ${include_directory}
  FILE_SET bridges DESTINATION ${include_directory})
install(EXPORT dlbridgeTargets NAMESPACE dlbridge:: DESTINATION ${package_directory})

set(BUNDLED_INCLUDE_DIR ${include_directory})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/dlbridgeConfig.cmake.in dlbridgeConfig.cmake
  INSTALL_DESTINATION ${package_directory} PATH_VARS BUNDLED_INCLUDE_DIR)
write_basic_package_version_file(dlbridgeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/dlbridgeConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/dlbridgeConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/dlbridgeFindDlpack.cmake
  DESTINATION ${package_directory})
