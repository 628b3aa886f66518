# `cmake --install`: headers, libraries, plugins, programs, man pages, the Python package, and what
# find_package(Caesura) and pkg-config need. docs/guide/install.md is the user's page.
#
# The prefix can be moved: nothing installed names it, and no RUNPATH leads into a build tree. With
# libraries in unusual places CMAKE_INSTALL_RPATH_USE_LINK_PATH=ON makes ours find them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Caesura)
set(generated ${PROJECT_BINARY_DIR}/install)
set(CAESURA_PLUGIN_DIR ${CMAKE_INSTALL_LIBDIR}/hdf5/plugin CACHE STRING
    "Where to install the HDF5 filter plugin")
set(CAESURA_VOL_DIR ${CMAKE_INSTALL_LIBDIR}/hdf5/vol CACHE STRING
    "Where to install the VOL connector, apart from the filter plugin")
set(CAESURA_FORTRAN_DIR ${CMAKE_INSTALL_LIBDIR}/caesura/fortran CACHE STRING
    "Where to install the modules of Fortran, which one compiler alone reads")

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/caesura DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
        FILES_MATCHING PATTERN "*.1")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
        PATTERN __pycache__ EXCLUDE)

# --------------------------------------------------------------------------- libraries, programs

set(libraries caesura_shared)
set(modules caesura)
if(CAESURA_MPI)
    list(APPEND libraries caesura_parallel_shared caesura_pmpi)
    list(APPEND modules caesura_parallel caesura_pmpi)
endif()
install(TARGETS ${libraries} EXPORT CaesuraTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT CaesuraTargets NAMESPACE Caesura:: DESTINATION ${package_dir})
install(TARGETS h5caesura LIBRARY DESTINATION ${CAESURA_PLUGIN_DIR})
# `ninja caesura_installed` builds what is installed, and nothing else.
add_custom_target(caesura_installed DEPENDS ${libraries} h5caesura)
if(TARGET caesura_vol)
    install(TARGETS caesura_vol LIBRARY DESTINATION ${CAESURA_VOL_DIR})
    list(APPEND modules caesura_vol)
    add_dependencies(caesura_installed caesura_vol)
    if(TARGET caesura_completion)
        install(TARGETS caesura_completion LIBRARY DESTINATION ${CAESURA_VOL_DIR}/caesura)
        add_dependencies(caesura_installed caesura_completion)
    endif()
endif()
if(TARGET caesura_adios2_engine)
    set(CAESURA_ADIOS2_DIR ${CMAKE_INSTALL_LIBDIR}/caesura/adios2 CACHE STRING
        "Where to install the plugins of ADIOS2, for ADIOS2_PLUGIN_PATH")
    install(TARGETS caesura_adios2_engine caesura_adios2_operator
            LIBRARY DESTINATION ${CAESURA_ADIOS2_DIR})
    add_dependencies(caesura_installed caesura_adios2_engine caesura_adios2_operator)
endif()
if(TARGET caesura_serve)
    install(TARGETS caesura_serve RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    add_dependencies(caesura_installed caesura_serve)
endif()

# An archive: its module files fit one compiler, and so does it.
if(TARGET caesura_fortran)
    install(FILES $<TARGET_FILE:caesura_fortran> DESTINATION ${CMAKE_INSTALL_LIBDIR})
    list(APPEND modules caesura_fortran)
    add_dependencies(caesura_installed caesura_fortran)
    if(TARGET caesura_fortran_mpi)
        install(FILES $<TARGET_FILE:caesura_fortran_mpi> DESTINATION ${CMAKE_INSTALL_LIBDIR})
        add_dependencies(caesura_installed caesura_fortran_mpi)
    endif()
    install(DIRECTORY ${PROJECT_BINARY_DIR}/fortran/modules/ DESTINATION ${CAESURA_FORTRAN_DIR}
            FILES_MATCHING PATTERN "*.mod")
endif()

# ------------------------------------------------------------------- find_package and pkg-config

configure_package_config_file(cmake/install/CaesuraConfig.cmake.in
    ${generated}/CaesuraConfig.cmake INSTALL_DESTINATION ${package_dir}
    PATH_VARS CMAKE_INSTALL_LIBDIR CAESURA_PLUGIN_DIR CAESURA_VOL_DIR CAESURA_FORTRAN_DIR)
write_basic_package_version_file(${generated}/CaesuraConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)  # while the version is 0.x
install(FILES ${generated}/CaesuraConfig.cmake
              ${generated}/CaesuraConfigVersion.cmake DESTINATION ${package_dir})

file(RELATIVE_PATH CAESURA_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" CAESURA_UP ${CAESURA_UP})
foreach(module IN LISTS modules)
    configure_file(cmake/install/${module}.pc.in ${generated}/${module}.pc @ONLY)
    install(FILES ${generated}/${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# ------------------------------------------------------------------ the package, the command line

if(CAESURA_PYTHON)
    find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
    set(CAESURA_PYTHON_DIR
        ${CMAKE_INSTALL_LIBDIR}/python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}/site-packages
        CACHE STRING "Where to install the Python package")
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/caesura DESTINATION ${CAESURA_PYTHON_DIR}
            PATTERN __pycache__ EXCLUDE PATTERN "*.so" EXCLUDE PATTERN plugins EXCLUDE)
    add_dependencies(caesura_installed caesura_python)
    install(TARGETS caesura_python LIBRARY DESTINATION ${CAESURA_PYTHON_DIR}/caesura)
    install(TARGETS h5caesura LIBRARY DESTINATION ${CAESURA_PYTHON_DIR}/caesura/plugins)
    file(RELATIVE_PATH CAESURA_PYTHON_FROM_BIN
         /${CMAKE_INSTALL_BINDIR} /${CAESURA_PYTHON_DIR})
    configure_file(cmake/install/caesura.in ${generated}/caesura @ONLY)
    install(PROGRAMS ${generated}/caesura DESTINATION ${CMAKE_INSTALL_BINDIR})
    # What pip shows, and where xarray finds its engine.
    set(info ${generated}/caesura-${PROJECT_VERSION}.dist-info)
    configure_file(cmake/install/METADATA.in ${info}/METADATA @ONLY)
    configure_file(cmake/install/entry_points.txt ${info}/entry_points.txt COPYONLY)
    file(WRITE ${info}/INSTALLER "cmake\n")
    install(DIRECTORY ${info} DESTINATION ${CAESURA_PYTHON_DIR})
endif()
