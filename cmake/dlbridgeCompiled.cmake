# SPDX-License-Identifier: BSD-3-Clause
# dlbridge_define_compiled(<include directory>): defines the targets whose units do not compile the bodies of
# dlbridge's functions. The static libraries with the bodies are built in the project that links them, for
# its Python and with its flags: a shared one would make extension modules share state.
#   dlbridge::compiled         as dlbridge::dlbridge
#   dlbridge::python_compiled  as dlbridge::python; Python is found before dlbridge is
function(dlbridge_define_compiled include_directory)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(TARGET dlbridge_compiled OR NOT CXX IN_LIST languages)
    return()
  endif()
  set(sources "${include_directory}/dlbridge/src")
  add_library(dlbridge_compiled STATIC EXCLUDE_FROM_ALL "${sources}/core.cpp" "${sources}/devices.cpp")
  add_library(dlbridge_python_compiled STATIC EXCLUDE_FROM_ALL "${sources}/python.cpp")
  add_library(dlbridge::compiled ALIAS dlbridge_compiled)
  add_library(dlbridge::python_compiled ALIAS dlbridge_python_compiled)
  target_link_libraries(dlbridge_compiled PUBLIC dlbridge::dlbridge)
  target_compile_definitions(dlbridge_compiled PUBLIC DLBRIDGE_COMPILED)
  set(python "$<TARGET_NAME_IF_EXISTS:Python::Module>")
  set(pybind11 "$<TARGET_NAME_IF_EXISTS:pybind11::headers>")
  target_link_libraries(dlbridge_python_compiled
    PUBLIC dlbridge_compiled dlbridge::python
    PRIVATE "$<IF:$<TARGET_EXISTS:Python::Module>,${python},${pybind11}>")
  foreach(library dlbridge_compiled dlbridge_python_compiled)
    set_target_properties(${library} PROPERTIES
      POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    # The linker keeps the functions that the project calls.
    target_compile_options(${library} PRIVATE
      $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-ffunction-sections;-fdata-sections>)
  endforeach()
  target_link_options(dlbridge_compiled INTERFACE $<$<PLATFORM_ID:Linux>:LINKER:--gc-sections>)
endfunction()
