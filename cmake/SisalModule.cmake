# sisal_module(NAME wal HEADERS log.h ... SOURCES src/log.cc ... PUBLIC sisal_io PRIVATE ... TESTS log_test.cc ...)
#
# Makes the static library sisal_<name> of the current folder and proves its place in the layers:
# - public headers live in include/sisal/<name>/, everything else in src/, on nobody's include path;
# - link_<name> links the whole archive against its declared dependencies alone;
# - each public header compiles by itself (target all_verify_interface_header_sets);
# - each file in TESTS, found in tests/<path of the module>/, becomes a test program of its name.
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)
file(WRITE ${CMAKE_BINARY_DIR}/empty_main.cc "int main() { return 0; }\n")

function(sisal_module)
  cmake_parse_arguments(ARG "" "NAME" "HEADERS;SOURCES;PUBLIC;PRIVATE;TESTS;TEST_LIBRARIES" ${ARGN})
  set(target sisal_${ARG_NAME})
  add_library(${target} STATIC ${ARG_SOURCES})
  list(TRANSFORM ARG_HEADERS PREPEND include/sisal/${ARG_NAME}/)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${ARG_HEADERS})
  target_include_directories(${target} PRIVATE src)
  target_compile_options(${target} PRIVATE ${SISAL_WARNINGS})
  target_link_libraries(${target} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})

  add_executable(link_${ARG_NAME} ${CMAKE_BINARY_DIR}/empty_main.cc)
  target_link_libraries(link_${ARG_NAME} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,${target}>")

  foreach(test_file ${ARG_TESTS})
    get_filename_component(test_name ${test_file} NAME_WE)
    file(RELATIVE_PATH module_path ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    sisal_test(NAME ${test_name} SOURCES ${CMAKE_SOURCE_DIR}/tests/${module_path}/${test_file}
               LIBRARIES ${target} ${ARG_TEST_LIBRARIES} TIMEOUT 120)
    target_include_directories(${test_name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  endforeach()
endfunction()

# sisal_test(NAME n SOURCES ... LIBRARIES ... [TIMEOUT seconds]): a GoogleTest program, one ctest entry.
function(sisal_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_compile_options(${ARG_NAME} PRIVATE ${SISAL_WARNINGS})
  target_include_directories(${ARG_NAME} PRIVATE ${CMAKE_SOURCE_DIR}/tests/include)
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LIBRARIES} GTest::gmock GTest::gtest_main)
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  if(ARG_TIMEOUT)
    set_tests_properties(${ARG_NAME} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  endif()
endfunction()
