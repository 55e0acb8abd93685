# Build settings shared by every target, and the two helpers that declare a module and a layer.

option(BANYAN_RUNTIME "Build the live adapters and the daemons (off: the pure layers and the simulator only)" ON)
option(BANYAN_TESTS "Build the unit tests" ON)
option(BANYAN_UNITY "Compile the sources of a module together: a whole build takes half the time, a changed file more" OFF)
set(BANYAN_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined | thread)")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

# The target all_verify_interface_header_sets compiles each header alone.
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)

find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(prometheus-cpp REQUIRED)
if(BANYAN_TESTS)
  find_package(GTest REQUIRED)
  add_custom_target(unit_tests)      # every NAME_test
  add_custom_target(threaded_tests)  # those of layers that have threads: what tsan can say something about
endif()

add_library(banyan_flags INTERFACE)
target_compile_options(banyan_flags INTERFACE -Wall -Wextra -Wpedantic -Werror -Wshadow -Wno-missing-field-initializers -Wnon-virtual-dtor
                                              -Woverloaded-virtual -fno-omit-frame-pointer)
target_include_directories(banyan_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(banyan_flags INTERFACE Threads::Threads)
if(BANYAN_SANITIZE)
  target_compile_options(banyan_flags INTERFACE -fsanitize=${BANYAN_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(banyan_flags INTERFACE -fsanitize=${BANYAN_SANITIZE})
endif()
find_program(MOLD mold)
if(MOLD)
  target_link_options(banyan_flags INTERFACE -fuse-ld=mold)
endif()

# A unity build compiles the sources of a target in batches, so that shared headers and templates are compiled once for
# each batch. Several batches keep all cores busy and bound the cost of one changed file.
function(banyan_unity target)
  if(BANYAN_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()

# banyan_module(NAME DIR [DEPS ...]): a static library from DIR/*.cc, and NAME_test from DIR/*_test.cc. Neither has
# DIR/test_*.cc, of which tests make programs or libraries of their own.
function(banyan_module name dir)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cc)
  file(GLOB headers CONFIGURE_DEPENDS ${dir}/*.h)
  file(GLOB tests CONFIGURE_DEPENDS ${dir}/*_test.cc)
  if(tests)
    list(REMOVE_ITEM sources ${tests})
  endif()
  list(FILTER sources EXCLUDE REGEX "/test_[^/]*$")
  list(FILTER headers EXCLUDE REGEX "/test_[^/]*$")
  if(sources)
    add_library(${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(${name} ${scope} banyan_flags ${ARG_DEPS})
  banyan_unity(${name})
  target_sources(${name} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${headers})
  if(BANYAN_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE ${name} GTest::gtest GTest::gmock GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE BANYAN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    if(BANYAN_SANITIZE)
      # Tests are most of the code to compile, and little of what runs: instrumented, a file takes a third of the time so.
      target_compile_options(${name}_test PRIVATE -O0)
    endif()
    add_test(NAME ${name}_test COMMAND ${name}_test)
    add_dependencies(unit_tests ${name}_test)
    if(name MATCHES "^(runtime|daemons)")
      add_dependencies(threaded_tests ${name}_test)
    endif()
  endif()
endfunction()
