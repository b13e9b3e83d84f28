# SPDX-License-Identifier: BSD-3-Clause
# A dlpack.h before 1.0, installed as Debian's libdlpack-dev 0.6 installs it. dlbridge passes over it where
# there is another one, and stops where there is none, or where it belongs to a target of the project.
set(old ${CMAKE_CURRENT_BINARY_DIR}/old)
file(WRITE ${old}/include/dlpack/dlpack.h
  "#ifndef DLPACK_DLPACK_H_\n#define DLPACK_DLPACK_H_\n#define DLPACK_VERSION 60\n#endif\n")
file(WRITE ${old}/lib/cmake/dlpack/dlpackConfig.cmake [[
if(NOT TARGET dlpack::dlpack)
  add_library(dlpack::dlpack INTERFACE IMPORTED)
  set_target_properties(dlpack::dlpack PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}/../../../include")
endif()
]])
set(subdirectory -DWAY=add_subdirectory -DDLBRIDGE_SOURCE=${PROJECT_SOURCE_DIR})

# Where the old header comes first in one way, the build uses the other header, and says so.
function(add_passing_over_test name)
  add_package_test(${name} ${subdirectory} ${ARGN})
  set_tests_properties(package.${name} PROPERTIES
    PASS_REGULAR_EXPRESSION "passed over these:.*  0\\.6 in [^\n]*/old/.*ok     the deleter was called once"
    FAIL_REGULAR_EXPRESSION "FAILED")
endfunction()
# The other header is on the search path of headers only, as that of the system would be.
add_passing_over_test(dlpack_old_package
  -DCMAKE_PREFIX_PATH=${old} -DCMAKE_INCLUDE_PATH=${dlpack_directory})
add_passing_over_test(dlpack_old_header)
set_tests_properties(package.dlpack_old_header PROPERTIES
  ENVIRONMENT CMAKE_INCLUDE_PATH=${old}/include:${dlpack_directory})
# The compiler reads the folders of CPATH before those of -isystem, and CMake reads them never.
add_package_test(dlpack_old_cpath ${subdirectory} -DDLPACK_INCLUDE_DIR=${dlpack_directory})
set_tests_properties(package.dlpack_old_cpath PROPERTIES ENVIRONMENT CPATH=${old}/include)

# Where it cannot, the message names what was found, what is needed and what to do.
function(add_refusal_test name says)
  add_test(NAME package.${name}
    COMMAND ${CMAKE_COMMAND} -S ${consumer} -B ${CMAKE_CURRENT_BINARY_DIR}/${name} ${compiler}
      ${subdirectory} -DFAKES_DIR=${PROJECT_SOURCE_DIR}/tests/fakes ${ARGN})
  string(REPLACE " " "[ \n]+" says "${says}")  # CMake breaks its lines
  set_tests_properties(package.${name} PROPERTIES PASS_REGULAR_EXPRESSION "${says}")
endfunction()
set(ways_without_download "1\\. install.*2\\. point.*3\\. pip install")
set(ways "${ways_without_download}.*4\\. let CMake")
add_refusal_test(dlpack_missing "found none in DLPACK_INCLUDE_DIR.*${ways}"
  -DDLPACK_INCLUDE_DIR=${CMAKE_CURRENT_BINARY_DIR}/missing)
add_refusal_test(dlpack_relative "DLPACK_INCLUDE_DIR is a relative path, include\\. Use an absolute one"
  -DDLPACK_INCLUDE_DIR:PATH=include)
add_refusal_test(dlpack_old "1.0 or newer, below 2.0, and found none.*0\\.6 in [^\n]*/old/include.*${ways}"
  -DDLPACK_INCLUDE_DIR=${old}/include)
add_refusal_test(dlpack_old_target "target dlpack::dlpack.*has 0\\.6 in [^\n]*/old/include.*add dlbridge first"
  -DOWN_DLPACK=${old}/include)

# A machine without the header, whose download succeeds, fails, or is not allowed.
function(add_download_test name says)
  add_test(NAME package.${name}
    COMMAND ${CMAKE_COMMAND} -DMODULE=${PROJECT_SOURCE_DIR}/cmake/dlbridgeFindDlpack.cmake ${ARGN}
      -P ${CMAKE_CURRENT_SOURCE_DIR}/download.cmake)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name})
  file(MAKE_DIRECTORY ${folder})
  string(REPLACE " " "[ \n]+" says "${says}")
  set_tests_properties(package.${name} PROPERTIES
    WORKING_DIRECTORY ${folder} PASS_REGULAR_EXPRESSION "${says}")
endfunction()
set(tried "DLPack's own CMake package.*installed dlbridge.*search paths.*apache-tvm-ffi")
file(SHA256 ${dlpack_directory}/dlpack/dlpack.h dlpack_hash)
set(download -DDLBRIDGE_FETCH_DLPACK=ON -DDLBRIDGE_DLPACK_URL=file://${dlpack_directory}/dlpack/dlpack.h)
set(downloaded "dlpack.h 1\\.[0-9]+: [^\n]* \\(downloaded\\)")
add_download_test(dlpack_download "${downloaded}" ${download} -DDLBRIDGE_DLPACK_SHA256=${dlpack_hash})
add_download_test(dlpack_download_of_any "${downloaded}" ${download} -DDLBRIDGE_DLPACK_SHA256=)
string(REPEAT 0 64 zeros)
add_download_test(dlpack_download_of_another
  "which failed: expected a dlpack.h with the SHA256 ${zeros}, got one with ${dlpack_hash}\\. To download \
another dlpack.h, set DLBRIDGE_DLPACK_SHA256 to its SHA256\\. An empty value checks nothing.*${ways_without_download}"
  ${download} -DDLBRIDGE_DLPACK_SHA256=${zeros})
add_download_test(dlpack_download_fails
  "${tried}.*a download of file:[^\n]*/missing.h, which failed: [^\n]+.*${ways_without_download}"
  -DDLBRIDGE_FETCH_DLPACK=ON -DDLBRIDGE_DLPACK_URL=file://${CMAKE_CURRENT_BINARY_DIR}/missing.h)
add_download_test(dlpack_download_of_page
  "a download of file:[^\n]*/download.cmake, which failed: what arrived is no dlpack.h.*${ways_without_download}"
  -DDLBRIDGE_FETCH_DLPACK=ON
  -DDLBRIDGE_DLPACK_URL=file://${CMAKE_CURRENT_SOURCE_DIR}/download.cmake)
set_tests_properties(package.dlpack_download_of_another package.dlpack_download_fails
  package.dlpack_download_of_page PROPERTIES FAIL_REGULAR_EXPRESSION "let CMake download")
add_download_test(dlpack_download_off "${tried}.*no download, as DLBRIDGE_FETCH_DLPACK is off.*${ways}")

# The compiler finds the old header where no CMake chose another one.
add_test(NAME package.dlpack_old_without_cmake
  COMMAND ${CMAKE_CXX_COMPILER} -std=c++17 -E -I${old}/include -I${PROJECT_SOURCE_DIR}/include
    ${PROJECT_SOURCE_DIR}/include/dlbridge/abi.hpp)
set_tests_properties(package.dlpack_old_without_cmake PROPERTIES
  PASS_REGULAR_EXPRESSION "error: .*dlbridge needs dlpack.h 1.0 or newer.*Put the folder of a newer one first")
# It finds none in its own folders, which the options omit, and stops there.
add_test(NAME package.dlpack_missing_without_cmake
  COMMAND ${CMAKE_CXX_COMPILER} -std=c++17 -E -nostdinc -nostdinc++ -I${PROJECT_SOURCE_DIR}/include
    ${PROJECT_SOURCE_DIR}/include/dlbridge/abi.hpp)
set_tests_properties(package.dlpack_missing_without_cmake PROPERTIES ENVIRONMENT "CPATH=;CPLUS_INCLUDE_PATH="
  PASS_REGULAR_EXPRESSION "error: .*the compiler found none.*pkg-config --cflags dlbridge.*apache-tvm-ffi.*fatal error: '?dlpack/dlpack.h")
