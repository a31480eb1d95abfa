# embed_files(<target> <header> <namespace> FILES a.sql b.sql …): makes <header> in the build tree with one
# `inline constexpr std::string_view` per file; the constant is named after the file (0001_first.sql -> k_0001_first).
function(embed_files target header namespace)
  cmake_parse_arguments(arg "" "" "FILES" ${ARGN})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated/${header})
  set(inputs "")
  foreach(file ${arg_FILES})
    list(APPEND inputs ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  string(REPLACE ";" "|" joined "${inputs}")
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DNAMESPACE=${namespace} "-DINPUTS=${joined}" -P ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${inputs} ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake VERBATIM)
  target_sources(${target} PRIVATE ${out})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
endfunction()
