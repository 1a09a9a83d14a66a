include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/belfry)

install(TARGETS ${BELFRY_LIBRARIES} belfry_belfry EXPORT belfryTargets)
install(EXPORT belfryTargets NAMESPACE belfry:: DESTINATION ${package_dir})

get_property(headers GLOBAL PROPERTY BELFRY_PUBLIC_HEADERS)
foreach(header IN LISTS headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/belfry/${folder})
endforeach()

# Names in lower case: find_package takes them for belfry and for Belfry.
configure_package_config_file(cmake/belfry-config.cmake.in ${PROJECT_BINARY_DIR}/belfry-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/belfry-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/belfry-config.cmake ${PROJECT_BINARY_DIR}/belfry-config-version.cmake
  cmake/FindLibTorch.cmake cmake/FindBelfrySystemLibraries.cmake DESTINATION ${package_dir})
