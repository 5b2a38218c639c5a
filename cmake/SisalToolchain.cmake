# Compiler cache, linker, warnings and sanitizers: the same for every target of ours.
find_program(SISAL_CCACHE ccache)
if(SISAL_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SISAL_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${SISAL_CCACHE})
endif()

find_program(SISAL_MOLD mold)
find_program(SISAL_LLD ld.lld)
if(SISAL_MOLD)
  add_link_options(-fuse-ld=mold)
elseif(SISAL_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# Release builds keep their checks (SISAL_CHECK) and, through -g1, line numbers in stack traces.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

set(SISAL_SANITIZE "" CACHE STRING "empty, address or thread")
if(SISAL_SANITIZE STREQUAL "address")
  set(SISAL_SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_compile_definitions(SISAL_ASAN=1)
elseif(SISAL_SANITIZE STREQUAL "thread")
  set(SISAL_SANITIZE_FLAGS -fsanitize=thread -fno-omit-frame-pointer)
  add_compile_definitions(SISAL_TSAN=1)
  add_compile_options(-Wno-tsan)
elseif(SISAL_SANITIZE)
  message(FATAL_ERROR "SISAL_SANITIZE is '${SISAL_SANITIZE}': it takes address or thread")
endif()
if(SISAL_SANITIZE_FLAGS)
  add_compile_options(${SISAL_SANITIZE_FLAGS})
  add_link_options(${SISAL_SANITIZE_FLAGS})
endif()

# Ours only: generated code and packages' headers are compiled without.
set(SISAL_WARNINGS -Wall -Wextra -Werror)
if(SISAL_SANITIZE_FLAGS)
  # GCC 12 sees uninitialised reads where a sanitizer's branches hide a std::variant's index.
  list(APPEND SISAL_WARNINGS -Wno-maybe-uninitialized)
endif()
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
