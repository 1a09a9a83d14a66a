# The small system libraries that have no CMake package on every supported release:
# BelfrySystem::leveldb, BelfrySystem::isal, BelfrySystem::farmhash, BelfrySystem::libzip, BelfrySystem::nlohmann_json
function(_belfry_system_library name header library)
  find_path(Belfry_${name}_INCLUDE_DIR ${header})
  find_library(Belfry_${name}_LIBRARY ${library})
  mark_as_advanced(Belfry_${name}_INCLUDE_DIR Belfry_${name}_LIBRARY)
  if(Belfry_${name}_INCLUDE_DIR AND Belfry_${name}_LIBRARY AND NOT TARGET BelfrySystem::${name})
    add_library(BelfrySystem::${name} UNKNOWN IMPORTED)
    set_target_properties(BelfrySystem::${name} PROPERTIES IMPORTED_LOCATION "${Belfry_${name}_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${Belfry_${name}_INCLUDE_DIR}")
  endif()
endfunction()

_belfry_system_library(leveldb leveldb/table.h leveldb)
_belfry_system_library(isal isa-l/crc.h isal)
_belfry_system_library(farmhash farmhash.h farmhash)
_belfry_system_library(libzip zip.h zip)
find_path(Belfry_nlohmann_json_INCLUDE_DIR nlohmann/json.hpp)
mark_as_advanced(Belfry_nlohmann_json_INCLUDE_DIR)
if(Belfry_nlohmann_json_INCLUDE_DIR AND NOT TARGET BelfrySystem::nlohmann_json)
  add_library(BelfrySystem::nlohmann_json INTERFACE IMPORTED)
  set_target_properties(BelfrySystem::nlohmann_json PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Belfry_nlohmann_json_INCLUDE_DIR}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BelfrySystemLibraries
  REQUIRED_VARS Belfry_leveldb_LIBRARY Belfry_isal_LIBRARY Belfry_farmhash_LIBRARY Belfry_libzip_LIBRARY
    Belfry_nlohmann_json_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Run scripts/setup.sh, or install libleveldb-dev, libisal-dev, libfarmhash-dev, libzip-dev and nlohmann-json3-dev.")
