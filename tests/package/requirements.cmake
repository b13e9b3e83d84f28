# SPDX-License-Identifier: BSD-3-Clause
# Configures dlbridge without one thing that it requires, and then as the message says. The message must state
# what is missing and the remedy, and the remedy must work:
# cmake -DCASE=... -DSOURCE=... -DFOLDER=... -DGENERATOR=... -DMAKE_PROGRAM=... -DCOMPILER=... -DPYTHON=...
#   -DPYTHON_INCLUDE_DIR=... -DDLPACK_DIR=... -P requirements.cmake
cmake_minimum_required(VERSION 3.24)
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/empty)
set(without_python -DDLBRIDGE_PYTHON=OFF)
set(python -DPython_EXECUTABLE=${PYTHON} -DPython_INCLUDE_DIR=${PYTHON_INCLUDE_DIR})
set(named_compiler -DCMAKE_CXX_COMPILER=${COMPILER})

# Sets <out> to what CMake prints, and <out>_failed. ARGN: variables of the environment, --, options.
function(configure out)
  list(FIND ARGN -- position)
  list(SUBLIST ARGN 0 ${position} environment)
  math(EXPR position "${position} + 1")
  list(SUBLIST ARGN ${position} -1 options)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env --unset=CXX --unset=CXXFLAGS ${environment}
      ${CMAKE_COMMAND} -S ${SOURCE} -B ${FOLDER}/build -G ${GENERATOR} -DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}
      -DDLBRIDGE_TESTS=OFF -DDLBRIDGE_BENCH=OFF ${options}
    OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE result)
  set(${out} "${text}" PARENT_SCOPE)
  set(${out}_failed ${result} PARENT_SCOPE)
endfunction()

# CMake stops, and its output matches each regular expression in <says>.
function(expect_refusal says)
  configure(refusal ${ARGN})
  if(NOT refusal_failed)
    message(FATAL_ERROR "${CASE}: CMake did not stop:\n${refusal}")
  endif()
  foreach(each IN LISTS says)
    string(REPLACE " " "[ \n]+" each "${each}")  # CMake breaks its lines
    if(NOT refusal MATCHES "${each}")
      message(FATAL_ERROR "${CASE}: \"${each}\" is not in this output:\n${refusal}")
    endif()
  endforeach()
endfunction()

function(expect_success)
  configure(success ${ARGN})
  if(success_failed)
    message(FATAL_ERROR "${CASE}: the remedy failed:\n${success}")
  endif()
endfunction()

# A program that stands for another one.
function(write_program path text)
  file(WRITE ${path} "#!/bin/sh\n${text}\n")
  file(CHMOD ${path} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

set(install "1[.] install one, on Debian and Ubuntu by apt-get install g[+][+]")
set(name "2[.] name one: set the environment variable CXX to its path, and run CMake with --fresh")
set(dlpack -DDLPACK_INCLUDE_DIR=${DLPACK_DIR})

if(CASE STREQUAL "compiler")
  expect_refusal("needs a C[+][+]17 compiler, and CMake found none on PATH[.];${install};${name}"
    PATH=${FOLDER}/empty -- ${without_python} ${dlpack})
  expect_refusal("and CMake found none on PATH [(]CXX is no-such-compiler[)][.];${install};${name}"
    CXX=no-such-compiler -- ${without_python} ${dlpack})
  expect_success(CXX=${COMPILER} -- ${without_python} ${dlpack})  # also without --fresh
elseif(CASE STREQUAL "working_compiler")
  write_program(${FOLDER}/broken "echo it is broken >&2; exit 1")
  expect_refusal("compiler, and [^\n]+/broken cannot build a program[.];${install};${name};it is broken"
    CXX=${FOLDER}/broken -- ${without_python} ${dlpack})
  expect_success(CXX=${COMPILER} -- --fresh ${without_python} ${dlpack})
elseif(CASE STREQUAL "cpp17")
  write_program(${FOLDER}/old
    "exec '${COMPILER}' -U__clang__ -U__GNUC__ -U__GNUC_MINOR__ -D__GNUC__=4 -D__GNUC_MINOR__=8 \"$@\"")
  expect_refusal("compiler, and [^\n]+/old, which is GNU 4[.]8[.0-9]*, has no C[+][+]17[.];${install};${name}"
    CXX=${FOLDER}/old -- ${without_python} ${dlpack})
  expect_success(CXX=${COMPILER} -- --fresh ${without_python} ${dlpack})
elseif(CASE STREQUAL "dlpack")
  expect_refusal("needs dlpack[.]h 1[.]0 or newer;2[.] point to the header: -DDLPACK_INCLUDE_DIR=<"
    -- ${named_compiler} ${without_python} -DDLPACK_INCLUDE_DIR=${FOLDER}/empty)
  expect_success(-- ${without_python} ${dlpack})
elseif(CASE STREQUAL "python_headers")
  expect_refusal("module of dlbridge needs Python[.]h of [^\n]+, and found none[.];\
1[.] install it, on Debian and Ubuntu by apt-get install python3[.][0-9]+-dev;\
2[.] name a Python that has it: -DPython_EXECUTABLE=<path>;3[.] build without the module: -DDLBRIDGE_PYTHON=OFF"
    -- ${named_compiler} ${dlpack} -DPython_EXECUTABLE=${PYTHON} -DPython_INCLUDE_DIR=${FOLDER}/empty)
  expect_success(-- ${without_python})
  expect_success(-- --fresh ${named_compiler} ${dlpack} ${python})
elseif(CASE STREQUAL "python_version")
  write_program(${FOLDER}/python3.8 "printf 3.8.18")
  expect_refusal("needs Python 3[.]9 or newer, and found [^\n]+/python3[.]8, which is 3[.]8[.]18[.];\
1[.] name another one: -DPython_EXECUTABLE=<path of a newer python3>;2[.] build without it: -DDLBRIDGE_PYTHON=OFF"
    -- ${named_compiler} ${dlpack} -DPython_EXECUTABLE=${FOLDER}/python3.8)
  expect_success(-- ${without_python})
  if(PYTHON_INCLUDE_DIR)
    expect_success(-- -DDLBRIDGE_PYTHON=ON ${python})
  endif()
elseif(CASE STREQUAL "pybind11")
  expect_refusal("needs pybind11 3[.]0 or newer, and found none[.];\
1[.] install it: [^\n]+ -m pip install \"pybind11>=3[.]0\";2[.] name its CMake folder: -Dpybind11_DIR=<folder>;\
3[.] build without the module: -DDLBRIDGE_PYTHON=OFF"
    -- ${named_compiler} ${dlpack} ${python} -DCMAKE_DISABLE_FIND_PACKAGE_pybind11=ON)
  expect_success(-- -DDLBRIDGE_PYTHON=OFF)
else()
  message(FATAL_ERROR "there is no case \"${CASE}\"")
endif()
