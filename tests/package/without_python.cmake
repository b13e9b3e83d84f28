# SPDX-License-Identifier: BSD-3-Clause
# Configures the consumer without Python, which fails, and again with the remedy that the message names.
file(REMOVE_RECURSE ${FOLDER})
set(configure ${CMAKE_COMMAND} -S ${SOURCE} -B ${FOLDER} ${OPTIONS})
execute_process(COMMAND ${configure} RESULT_VARIABLE failed ERROR_VARIABLE message)
if(NOT failed OR NOT message MATCHES "dlbridge::python_compiled requires Python.h: call (find_package[^)]*[)])")
  message(FATAL_ERROR "expected an error that names a call of find_package; got ${failed}:\n${message}")
endif()
file(WRITE ${FOLDER}/remedy.cmake "${CMAKE_MATCH_1}\n")
execute_process(COMMAND ${configure} -DFIND_AFTER=${FOLDER}/remedy.cmake COMMAND_ERROR_IS_FATAL ANY)
