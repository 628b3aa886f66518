# The shared libraries that are installed, made of the rooms' archives:
#   caesura_shared            libcaesura.so           codec, writer, C face; serial HDF5
#   caesura_parallel_shared   libcaesura_parallel.so  the same with parallel HDF5 (CAESURA_MPI)
# In the build tree everything goes on being linked to the archives.
#
# They export what public headers declare and nothing else (cmake/install/exports.map.in);
# tests/abi lists it. Each flavour has a symbol version of its own, so that both in one process do
# not take each other's functions.
#
# CAESURA_ABI is the number in the soname. It rises with a release that removes or changes a symbol
# of tests/abi, or changes what a public type holds.
set(CAESURA_ABI 0)

include(GNUInstallDirs)

# Rooms with public headers lie in them whole: an application may call what no other room does.
set(CAESURA_WHOLE base codec plan device checkpoint store checkpoint_file read writer capi
                  capi_service)

function(caesura_shared_library target flavour export)
    # The C face's objects are its sources: a library needs some.
    add_library(${target} SHARED $<TARGET_OBJECTS:caesura_capi_once>)
    set(whole)
    foreach(room IN LISTS CAESURA_WHOLE)
        if(room STREQUAL "capi")
            continue()
        elseif(flavour AND TARGET caesura_${room}${flavour})
            list(APPEND whole $<TARGET_FILE:caesura_${room}${flavour}>)
        elseif(TARGET caesura_${room})
            list(APPEND whole $<TARGET_FILE:caesura_${room}>)
        endif()
    endforeach()
    target_link_libraries(${target} PRIVATE -Wl,--whole-archive ${whole} -Wl,--no-whole-archive
                                            caesura${flavour})
    string(TOUPPER "${flavour}" CAESURA_FLAVOUR)
    set(map ${CMAKE_CURRENT_BINARY_DIR}/exports${flavour}.map)
    configure_file(cmake/install/exports.map.in ${map} @ONLY)
    # nodelete: threads keep working memory of ours when a program unloads what brought us.
    target_link_options(${target} PRIVATE "LINKER:--version-script=${map}" LINKER:-z,defs
                                          LINKER:-z,nodelete LINKER:--as-needed
                                          LINKER:-Bsymbolic-functions)
    set_target_properties(${target} PROPERTIES
        OUTPUT_NAME caesura${flavour} EXPORT_NAME ${export} LINKER_LANGUAGE CXX LINK_DEPENDS ${map}
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
        VERSION ${PROJECT_VERSION} SOVERSION ${CAESURA_ABI})
    target_include_directories(${target} INTERFACE
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_features(${target} INTERFACE cxx_std_20)
endfunction()

caesura_shared_library(caesura_shared "" writer)
if(CAESURA_MPI)
    caesura_shared_library(caesura_parallel_shared "_parallel" parallel)
    set_target_properties(caesura_pmpi PROPERTIES EXPORT_NAME pmpi
                          VERSION ${PROJECT_VERSION} SOVERSION ${CAESURA_ABI})
endif()
