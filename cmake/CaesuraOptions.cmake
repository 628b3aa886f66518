# Language level, warnings and sanitizers, the same for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# Functions and lines in backtraces, no variables: -g takes a quarter more time to compile.
set(CAESURA_DEBUG_INFO -g1 CACHE STRING "Debug information of RelWithDebInfo: -g1, -g or -g0")
foreach(language C CXX)
    string(REGEX REPLACE "-g[0-3]?( |$)" "${CAESURA_DEBUG_INFO}\\1"
                         CMAKE_${language}_FLAGS_RELWITHDEBINFO
                         "${CMAKE_${language}_FLAGS_RELWITHDEBINFO}")
endforeach()
find_program(CCACHE ccache)
if(CCACHE)
    # What one checkout has compiled serves every other one.
    set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
                 ${CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
    set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()

# Contraction off: the error bounds hold for the IEEE operations as written.
add_compile_options(-Wall -Wextra -Wshadow -ffp-contract=off)

# Public functions are exported, and still called and inlined by us without a detour.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>)

if(CAESURA_SANITIZE STREQUAL "address")
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    add_link_options(-fsanitize=address,undefined)
elseif(CAESURA_SANITIZE STREQUAL "thread")
    add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
    add_link_options(-fsanitize=thread)
elseif(CAESURA_SANITIZE)
    message(FATAL_ERROR "CAESURA_SANITIZE is '${CAESURA_SANITIZE}'; use address, thread or nothing")
endif()
