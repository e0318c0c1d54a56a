# slipway_library(NAME [COLD] SOURCES... PUBLIC|PRIVATE targets...): one static library of ours. COLD: it runs once a load or once a job, so
# that -O3 would make the programs larger and nothing faster.
function(slipway_library name)
  cmake_parse_arguments(arg "COLD" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/core ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE project_options ${arg_PRIVATE})
  if(arg_COLD)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O2>)
  endif()
endfunction()

# install_program(TARGET PURPOSE): a program with its manual page and its completion for bash. PURPOSE: of the page's first line.
function(install_program target purpose)
  install(TARGETS ${target} RUNTIME)
  get_target_property(name ${target} OUTPUT_NAME)
  if(NOT name)
    set(name ${target})
  endif()
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/completion.bash RENAME ${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  if(CMAKE_CROSSCOMPILING OR SLIPWAY_SANITIZE) # the page is what the program says
    return()
  endif()
  set(page ${CMAKE_CURRENT_BINARY_DIR}/${name}.1.gz)
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/manual.sh $<TARGET_FILE:${target}> ${PROJECT_VERSION} ${purpose} ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endfunction()

# add_unit_test(MODULE FILE [THREADS] [LABELS ...] [LINK ...]): tests/unit/MODULE/FILE.c against the library MODULE. THREADS: it starts
# threads, so that ThreadSanitizer may find something. The build for ThreadSanitizer leaves the others out, unless a target is named.
function(add_unit_test module file)
  cmake_parse_arguments(arg "THREADS" "" "LABELS;LINK" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  set(target ${module}_${file})
  add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/unit/${module}/${file}.c)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE ${module} ${arg_LINK} PkgConfig::CMOCKA project_options m)
  if(SLIPWAY_SANITIZE) # the test itself is checked as well at -O0, and compiles in half the time
    target_compile_options(${target} PRIVATE -O0)
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(arg_THREADS)
    list(APPEND arg_LABELS threads)
  elseif(SLIPWAY_SANITIZE STREQUAL "thread")
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    return()
  endif()
  add_test(NAME ${module}/${file} COMMAND ${target} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${module}/${file} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 900
    ENVIRONMENT "CMOCKA_MESSAGE_OUTPUT=STDOUT")
endfunction()

# add_fuzz_target(WHAT LINK... [SOURCES ...] [SEEDS count]): tests/fuzz/fuzz_WHAT.c. With SLIPWAY_FUZZ a libFuzzer binary;
# otherwise the same function behind a driver that replays tests/fuzz/corpus/WHAT, so every past crash runs in every ctest.
# With SEEDS the target makes its inputs up from a number, and every ctest runs that many.
function(add_fuzz_target what)
  cmake_parse_arguments(arg "" "SEEDS" "LINK;SOURCES" ${ARGN})
  set(target fuzz_${what})
  list(TRANSFORM arg_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/tests/fuzz/)
  set(sources ${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_${what}.c ${arg_SOURCES})
  set(inputs ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${what})
  if(arg_SEEDS)
    set(inputs 0 ${arg_SEEDS})
  endif()
  if(NOT SLIPWAY_FUZZ)
    list(APPEND sources ${PROJECT_SOURCE_DIR}/tests/fuzz/$<IF:$<BOOL:${arg_SEEDS}>,seeds,replay>.c)
  endif()
  add_executable(${target} ${sources})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE ${arg_LINK} project_options)
  target_compile_options(${target} PRIVATE -UNDEBUG) # assertions are what it checks
  if(SLIPWAY_FUZZ)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(SLIPWAY_SANITIZE STREQUAL "thread") # it has one thread
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  elseif(NOT SLIPWAY_FUZZ)
    add_test(NAME fuzz/${what} COMMAND ${target} ${inputs} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(fuzz/${what} PROPERTIES LABELS fuzz TIMEOUT 900)
  endif()
endfunction()
