# package.cmake - installs what lets others find a library: pkg-config and CMake package files.
include(CMakePackageConfigHelpers)

# sbtrace_package(NAME VERSION COMPATIBILITY): NAME is the package and the export set; NAME.pc.in and
# NAMEConfig.cmake.in are in the current folder.
function(sbtrace_package name version compatibility)
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  install(EXPORT ${name} NAMESPACE ${name}:: DESTINATION ${folder} FILE ${name}Targets.cmake)
  configure_package_config_file(${name}Config.cmake.in ${name}Config.cmake INSTALL_DESTINATION ${folder})
  write_basic_package_version_file(${name}ConfigVersion.cmake VERSION ${version} COMPATIBILITY ${compatibility})
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}Config.cmake ${CMAKE_CURRENT_BINARY_DIR}/${name}ConfigVersion.cmake
          DESTINATION ${folder})

  # The prefix is not known before the installation: cmake --install --prefix may set another one.
  foreach(dir LIBDIR INCLUDEDIR)
    set(PC_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
      set(PC_${dir} "${CMAKE_INSTALL_${dir}}")
    endif()
  endforeach()
  set(PC_PREFIX "@CMAKE_INSTALL_PREFIX@")
  set(PC_VERSION ${version})
  configure_file(${name}.pc.in ${name}.pc.in @ONLY)
  install(CODE "configure_file(\"${CMAKE_CURRENT_BINARY_DIR}/${name}.pc.in\" \"${CMAKE_CURRENT_BINARY_DIR}/${name}.pc\" @ONLY)")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
