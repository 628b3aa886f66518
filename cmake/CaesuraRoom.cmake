# One static library per room; src/rooms.ini says which rooms it is linked to.
#
#   caesura_room(plan SOURCES when.cpp)
#       -> target caesura_plan
#   caesura_room(store HDF5 SOURCES ...)
#       -> targets caesura_store (serial HDF5), caesura_store_parallel (with CAESURA_MPI) and
#          caesura_store_vol (where there is an HDF5 for the VOL connector; compiled for it only).
#          Rooms that come in these flavours are linked in the matching one.
#   LIBS: outside libraries, private.
#
#   caesura_test(plan_when SOURCES when_test.cpp LIBS caesura_plan)   one gtest executable
function(caesura_room name)
    cmake_parse_arguments(A "HDF5" "" "SOURCES;LIBS" ${ARGN})
    _caesura_room_flavour(caesura_${name} "")
    if(A_HDF5)
        target_link_libraries(caesura_${name} PRIVATE Hdf5::serial)
        if(CAESURA_MPI)
            _caesura_room_flavour(caesura_${name}_parallel "_parallel")
            target_link_libraries(caesura_${name}_parallel PRIVATE Hdf5::parallel)
        endif()
        if(TARGET Hdf5::vol)
            _caesura_room_flavour(caesura_${name}_vol "_vol")
            target_link_libraries(caesura_${name}_vol PRIVATE Hdf5::vol)
            set_target_properties(caesura_${name}_vol PROPERTIES EXCLUDE_FROM_ALL ON)
        endif()
    endif()
endfunction()

macro(_caesura_room_flavour target suffix)
    add_library(${target} STATIC ${A_SOURCES})
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

function(caesura_test name)
    if(NOT CAESURA_TESTS)
        return()
    endif()
    cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
    add_executable(${name}_test ${A_SOURCES})
    target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${name}_test PRIVATE ${A_LIBS} fmt::fmt GTest::gtest_main Threads::Threads)
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60)
endfunction()
