# SPDX-License-Identifier: BSD-3-Clause
# Searches for dlpack.h as a machine that has none does, with the addresses of a file in place of that of the
# network: cmake -DMODULE=dlbridgeFindDlpack.cmake -DDLBRIDGE_DLPACK_URL=... -P download.cmake
cmake_minimum_required(VERSION 3.23)
foreach(where IN ITEMS CMAKE_PATH CMAKE_ENVIRONMENT_PATH CMAKE_SYSTEM_PATH PACKAGE_ROOT_PATH
    PACKAGE_REGISTRY SYSTEM_ENVIRONMENT_PATH INSTALL_PREFIX)
  set(CMAKE_FIND_USE_${where} OFF)
endforeach()
file(REMOVE_RECURSE "${CMAKE_BINARY_DIR}/dlbridge-dlpack-download")
include("${MODULE}")
_dlbridge_try_all()
get_property(chosen GLOBAL PROPERTY DLBRIDGE_DLPACK_INCLUDE_DIR)
if(NOT chosen)
  _dlbridge_find_dlpack()  # the target, which it defines for a header, needs a project
endif()
