# SPDX-License-Identifier: BSD-3-Clause
# What an installation states when its folders are absolute, and for other platforms.
set(prefix ${FOLDER}/prefix)
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${DLBRIDGE_SOURCE} -B ${FOLDER} --fresh -G ${GENERATOR} ${COMPILER}
    -DDLBRIDGE_TESTS=OFF -DDLBRIDGE_BENCH=OFF -DDLBRIDGE_PYTHON=OFF -DDLBRIDGE_INSTALL=ON
    -DDLPACK_INCLUDE_DIR=${DLPACK_DIR} -DCMAKE_INSTALL_PREFIX=${prefix} -DCMAKE_INSTALL_DATADIR=${FOLDER}/data
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)

file(READ ${FOLDER}/data/pkgconfig/dlbridge.pc pkgconfig)
string(FIND "${pkgconfig}" "includedir=${prefix}/include\n" found)  # a path is no regular expression
if(found EQUAL -1)
  message(FATAL_ERROR "dlbridge.pc does not name ${prefix}/include:\n${pkgconfig}")
endif()
file(STRINGS ${FOLDER}/data/cmake/dlbridge/dlbridgeTargets.cmake libraries REGEX INTERFACE_LINK_LIBRARIES)
if(libraries MATCHES "[;\"]dl[;\"]")  # only some platforms have libdl
  message(FATAL_ERROR "the package links libdl on every platform:\n${libraries}")
endif()
foreach(file LICENSE NOTICE LICENSES/Apache-2.0.txt)
  if(NOT EXISTS ${FOLDER}/data/licenses/dlbridge/${file})
    message(FATAL_ERROR "the installation lacks ${file}")
  endif()
endforeach()
# The sources of the compiled targets are found, which CMake checks when it generates.
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${DLBRIDGE_SOURCE}/examples/plain_cpp -B ${FOLDER}/plain_cpp --fresh
    -G ${GENERATOR} ${COMPILER} -Ddlbridge_DIR=${FOLDER}/data/cmake/dlbridge
  COMMAND_ERROR_IS_FATAL ANY)
