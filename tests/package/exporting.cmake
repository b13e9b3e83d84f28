# SPDX-License-Identifier: BSD-3-Clause
# Installs the project exporting, and builds the consumer with its package.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed)
  if(failed)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed: ${command}")
  endif()
endfunction()

set(prefix ${FOLDER}/prefix)
file(REMOVE_RECURSE ${FOLDER})
run(${CMAKE_COMMAND} -S ${SOURCE}/exporting -B ${FOLDER}/exporting -G ${GENERATOR} ${COMPILER}
  -DDLBRIDGE_SOURCE=${DLBRIDGE_SOURCE} -DDLBRIDGE_INSTALL=${DLBRIDGE_INSTALL} ${OPTIONS})
run(${CMAKE_COMMAND} --install ${FOLDER}/exporting --prefix ${prefix})
if(COMPONENT)
  if(EXISTS ${prefix}/include)
    message(FATAL_ERROR "dlbridge was installed, though its parent did not ask for it")
  endif()
  run(${CMAKE_COMMAND} --install ${FOLDER}/exporting --prefix ${prefix} --component ${COMPONENT})
endif()
run(${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${FOLDER}/consumer -G ${GENERATOR} ${COMPILER}
  -DWAY=exporting -DCMAKE_PREFIX_PATH=${prefix} -DFAKES_DIR=${FAKES_DIR})
run(${CMAKE_COMMAND} --build ${FOLDER}/consumer)
run(${FOLDER}/consumer/consumer)
