include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/belfry)

install(TARGETS ${BELFRY_LIBRARIES} belfry_belfry EXPORT belfryTargets)
install(EXPORT belfryTargets NAMESPACE belfry:: DESTINATION ${package_dir})

get_property(headers GLOBAL PROPERTY BELFRY_PUBLIC_HEADERS)
foreach(header IN LISTS headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/belfry/${folder})
endforeach()

configure_package_config_file(cmake/belfryConfig.cmake.in ${PROJECT_BINARY_DIR}/belfryConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/belfryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/belfryConfig.cmake ${PROJECT_BINARY_DIR}/belfryConfigVersion.cmake
  cmake/FindLibTorch.cmake cmake/FindBelfrySystemLibraries.cmake DESTINATION ${package_dir})
