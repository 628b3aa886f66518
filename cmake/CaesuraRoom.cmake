# One static library per room; src/rooms.ini says which rooms it is linked to.
#
#   caesura_room(plan SOURCES when.cpp)
#       -> target caesura_plan
#   caesura_room(store SOURCES journal.cpp HDF5 recover.cpp)
#       -> targets caesura_store (serial HDF5), caesura_store_parallel (with CAESURA_MPI) and
#          caesura_store_vol (where there is an HDF5 for the VOL connector; compiled for it only).
#          What HDF5 names sees HDF5's headers and is compiled for each; SOURCES do not, are
#          compiled once and lie in all of them. A room that knows one in flavours names HDF5 even
#          if it has no such sources: each flavour is linked to the matching rooms.
#   HIDDEN: one more flavour, caesura_store_hidden, with the HDF5 that no application sees.
#   LIBS: outside libraries, private.
#
#   caesura_test(plan_when SOURCES when_test.cpp LIBS caesura_plan)   one gtest executable
#
# Sources of one room are compiled a few at a time (CAESURA_UNITY): most of the time goes into the
# headers they share. So names in their anonymous namespaces must differ within a room.
function(caesura_room name)
    cmake_parse_arguments(A "HIDDEN" "" "SOURCES;HDF5;LIBS" ${ARGN})
    if(NOT "HDF5" IN_LIST ARGN)
        _caesura_library(caesura_${name} "" ${A_SOURCES})
        return()
    endif()
    set(once)
    if(A_SOURCES)
        _caesura_library(caesura_${name}_once "" ${A_SOURCES})
        set(once $<TARGET_OBJECTS:caesura_${name}_once>)
    endif()
    _caesura_library(caesura_${name} "" ${A_HDF5} ${once})
    target_link_libraries(caesura_${name} PRIVATE Hdf5::serial)
    if(CAESURA_MPI)
        _caesura_library(caesura_${name}_parallel "_parallel" ${A_HDF5} ${once})
        target_link_libraries(caesura_${name}_parallel PRIVATE Hdf5::parallel)
    endif()
    if(TARGET Hdf5::vol)
        _caesura_library(caesura_${name}_vol "_vol" ${A_HDF5} ${once})
        target_link_libraries(caesura_${name}_vol PRIVATE Hdf5::vol)
        set_target_properties(caesura_${name}_vol PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    if(A_HIDDEN AND TARGET Hdf5::hidden)
        _caesura_library(caesura_${name}_hidden "_hidden" ${A_HDF5} ${once})
        target_link_libraries(caesura_${name}_hidden PRIVATE Hdf5::hidden)
        set_target_properties(caesura_${name}_hidden PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
endfunction()

# A library of the calling room in one flavour; an object library if it is named *_once.
macro(_caesura_library target suffix)
    if(${target} MATCHES "_once$")
        add_library(${target} OBJECT ${ARGN})
    else()
        add_library(${target} STATIC ${ARGN})
    endif()
    caesura_unity(${target})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include
                                         PRIVATE ${PROJECT_SOURCE_DIR}/src)
    caesura_link_known_rooms(${target} ${name} "${suffix}")
    target_link_libraries(${target} PRIVATE fmt::fmt Threads::Threads ${A_LIBS})
endmacro()

# Links `target` to the rooms that `room` knows, in the flavour of HDF5 that `suffix` names.
function(caesura_link_known_rooms target room suffix)
    foreach(dep ${CAESURA_KNOWS_${room}})
        if(NOT "${suffix}" STREQUAL "" AND TARGET caesura_${dep}${suffix})
            target_link_libraries(${target} PUBLIC caesura_${dep}${suffix})
        else()
            target_link_libraries(${target} PUBLIC caesura_${dep})
        endif()
    endforeach()
endfunction()

# Compile this target's sources 16 at a time; those with options of their own stay alone.
function(caesura_unity target)
    set_target_properties(${target} PROPERTIES
        UNITY_BUILD ${CAESURA_UNITY} UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# Tests are compiled with -O1: what they measure is in the libraries, and they are a third of all
# code. Name tests of one program apart from each other (CAESURA_UNITY).
function(caesura_test name)
    if(NOT CAESURA_TESTS)
        return()
    endif()
    cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
    add_executable(${name}_test ${A_SOURCES})
    caesura_unity(${name}_test)
    target_compile_options(${name}_test PRIVATE -O1)
    target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${name}_test PRIVATE ${A_LIBS} fmt::fmt GTest::gtest_main Threads::Threads)
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60)
endfunction()
