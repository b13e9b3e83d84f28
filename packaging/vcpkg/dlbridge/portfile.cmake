# SPDX-License-Identifier: BSD-3-Clause
# Not verified: see README.md of the folder above.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(VCPKG_BUILD_TYPE release)  # headers only

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DDLBRIDGE_TESTS=OFF
    -DDLBRIDGE_BENCH=OFF
    -DDLBRIDGE_PYTHON=OFF
    -DDLBRIDGE_INSTALL_DLPACK=OFF  # that of the port dlpack
    "-DDLPACK_INCLUDE_DIR=${CURRENT_INSTALLED_DIR}/include")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/dlbridge)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/licenses")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE")
