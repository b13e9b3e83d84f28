# SPDX-License-Identifier: BSD-3-Clause
# [config]
include(CMakeFindDependencyMacro)
find_dependency(dlbridge CONFIG)
include("${CMAKE_CURRENT_LIST_DIR}/exportingTargets.cmake")
# [/config]
