# Defines what "cmake --install" of an emitted folder installs: the library, whose file name contains the version of the
# C ABI, its headers, the program, a CMake package for find_package(<name>), which defines <name>::<name>, and
# hirgen_<name>.pc for pkg-config; for the CPU device, also that device's library and headers. Several programs can be
# installed into one prefix if all are for the same device. No installed file contains the prefix as an absolute path,
# so the prefix can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(library hirgen_${PROJECT_NAME})
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/${library})
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/${PROJECT_NAME})
file(RELATIVE_PATH program_to_libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})

add_library(${PROJECT_NAME}::${PROJECT_NAME} ALIAS ${library})  # the name that find_package() also defines
target_include_directories(${library} INTERFACE $<INSTALL_INTERFACE:${headers}>)
set_target_properties(${library} PROPERTIES EXPORT_NAME ${PROJECT_NAME}
    INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
set_target_properties(${library}_run PROPERTIES INSTALL_RPATH "$ORIGIN/${program_to_libraries}")

install(TARGETS ${library} EXPORT ${library} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ${library}_run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_NAME}.h DESTINATION ${headers})
install(FILES runtime/include/hirgen/c_api.h DESTINATION ${headers}/hirgen)

# The component "python" has the libraries of the PyTorch package (pyproject.toml): the program's and, if it is for the
# CPU device, that device's.
if(HIRGEN_PYTHON_PACKAGE)
  install(TARGETS ${library} LIBRARY DESTINATION ${HIRGEN_PYTHON_PACKAGE}/lib NAMELINK_SKIP
      COMPONENT python EXCLUDE_FROM_ALL)
  if(HIRGEN_DEVICE STREQUAL cpu)
    install(FILES $<TARGET_FILE:${device_library}> DESTINATION ${HIRGEN_PYTHON_PACKAGE}/lib
        COMPONENT python EXCLUDE_FROM_ALL)
  endif()
endif()

# Links clients to the device: CUDA's runtime, or the library and headers of the CPU device.
if(HIRGEN_DEVICE STREQUAL cpu)
  target_link_libraries(${library} INTERFACE $<INSTALL_INTERFACE:${PROJECT_NAME}::${library}_cpu>)
  install(FILES $<TARGET_FILE:${device_library}> DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY runtime/cpu/include/ DESTINATION ${headers}/cpu)
  set(device_cflags "-I\${includedir}/cpu")
  set(device_libs -lhirgen_cpu)
else()
  target_link_libraries(${library} INTERFACE $<INSTALL_INTERFACE:CUDA::cudart>)
  list(GET CUDAToolkit_INCLUDE_DIRS 0 cuda_headers)
  set(device_cflags -I${cuda_headers})
  set(device_libs "-L${CUDAToolkit_LIBRARY_DIR} -lcudart")
endif()

# The CMake package.
set(config ${CMAKE_CURRENT_BINARY_DIR}/${PROJECT_NAME}Config.cmake)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/config.cmake.in ${config} INSTALL_DESTINATION ${package}
    PATH_VARS CMAKE_INSTALL_LIBDIR headers NO_CHECK_REQUIRED_COMPONENTS_MACRO)
set(config_version ${CMAKE_CURRENT_BINARY_DIR}/${PROJECT_NAME}ConfigVersion.cmake)
write_basic_package_version_file(${config_version} VERSION ${abi_version} COMPATIBILITY SameMajorVersion)
install(FILES ${config} ${config_version} DESTINATION ${package})
install(EXPORT ${library} FILE ${PROJECT_NAME}Targets.cmake NAMESPACE ${PROJECT_NAME}:: DESTINATION ${package})

# The file for pkg-config.
file(RELATIVE_PATH pc_to_libraries ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_to_headers ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR}/${library})
configure_file(${CMAKE_CURRENT_LIST_DIR}/library.pc.in ${library}.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
