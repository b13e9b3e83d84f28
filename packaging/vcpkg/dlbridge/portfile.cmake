# SPDX-License-Identifier: BSD-3-Clause
set(VCPKG_BUILD_TYPE release)  # headers only

vcpkg_download_distfile(archive
  URLS "@SOURCE@"
  FILENAME "dlbridge-${VERSION}.tar.gz"
  SHA512 @SHA512@)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${archive}")
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
# vcpkg wants the file here if it names a library, and it names libdl.
file(MAKE_DIRECTORY "${CURRENT_PACKAGES_DIR}/lib")
file(RENAME "${CURRENT_PACKAGES_DIR}/share/pkgconfig" "${CURRENT_PACKAGES_DIR}/lib/pkgconfig")
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/licenses")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
