# What every target of Belfry is compiled with. The precompiled header is shared, and GCC refuses it to a file whose flags
# differ: so flags are set here alone, and -fPIC is spelled out (CMake would give -fPIC to libraries and -fPIE to programs).
add_library(belfry_flags INTERFACE)
target_compile_options(belfry_flags INTERFACE -fPIC -fpch-preprocess "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/="
  -Wall -Wextra)
if(BELFRY_WERROR)
  target_compile_options(belfry_flags INTERFACE -Werror)
endif()

function(belfry_target_flags target)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:belfry_flags>)
  set_target_properties(${target} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE OFF DEFINE_SYMBOL "")
endfunction()

# Two precompiled headers: the tensor library (a file that uses it compiles in about 2 s) for what does not name
# torch::nn, and all of LibTorch (about 6 s) for what does. In angle brackets: an own header would enter by its absolute
# path, and another clone would miss in ccache.
function(_belfry_pch name)
  add_library(belfry_pch_${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/pch.cpp)
  belfry_target_flags(belfry_pch_${name})
  target_link_libraries(belfry_pch_${name} PRIVATE LibTorch::LibTorch)
  target_precompile_headers(belfry_pch_${name} PRIVATE ${ARGN})
  belfry_ccache_pch(belfry_pch_${name} "${ARGN}")
endfunction()
if(BELFRY_PCH)
  _belfry_pch(aten <torch/types.h> <torch/csrc/autograd/autograd.h>)
  _belfry_pch(torch <torch/torch.h>)
endif()

# Call after the target's libraries are linked. HEADER is aten or torch.
function(belfry_use_pch target header)
  if(BELFRY_PCH)
    target_precompile_headers(${target} REUSE_FROM belfry_pch_${header})
  endif()
endfunction()

# belfry_library(core SOURCES … HEADERS … LINK … [PRIVATE_LINK …] [ATEN | TORCH]): HEADERS are the public ones, installed.
# ATEN and TORCH link LibTorch and choose the precompiled header.
function(belfry_library name)
  cmake_parse_arguments(arg "TORCH;ATEN" "" "SOURCES;HEADERS;LINK;PRIVATE_LINK" ${ARGN})
  set(target belfry_${name})
  add_library(${target} ${arg_SOURCES})
  add_library(belfry::${name} ALIAS ${target})
  belfry_target_flags(${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/belfry>)
  target_link_libraries(${target} PUBLIC ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  if(arg_TORCH OR arg_ATEN)
    target_link_libraries(${target} PUBLIC LibTorch::LibTorch)
  endif()
  if(arg_TORCH)
    belfry_use_pch(${target} torch)
  elseif(arg_ATEN)
    belfry_use_pch(${target} aten)
  endif()
  list(TRANSFORM arg_HEADERS PREPEND ${name}/)
  set_property(GLOBAL APPEND PROPERTY BELFRY_PUBLIC_HEADERS ${arg_HEADERS})
  set_property(GLOBAL APPEND PROPERTY BELFRY_LIBRARIES ${target})
endfunction()

# belfry_protobuf(core record.proto): generated code is private to the build tree and never installed. Files are registered
# as belfry/core/record.proto: two files of one registered name in one process abort it.
function(belfry_protobuf folder)
  set(generated ${PROJECT_BINARY_DIR}/generated)
  foreach(proto IN LISTS ARGN)
    string(REGEX REPLACE "\\.proto$" "" stem ${proto})
    set(out ${generated}/belfry/${folder}/${stem}.pb)
    add_custom_command(OUTPUT ${out}.cc ${out}.h
      COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
      COMMAND protobuf::protoc -Ibelfry=${PROJECT_SOURCE_DIR} --cpp_out=${generated} belfry/${folder}/${proto}
      DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/${proto} protobuf::protoc VERBATIM)
    target_sources(belfry_${folder} PRIVATE ${out}.cc ${out}.h)
    set_source_files_properties(${out}.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS -w)
  endforeach()
  belfry_use_protos(belfry_${folder})
endfunction()

# For a target of ours that includes "belfry/core/event.pb.h". The system's protobuf headers win over LibTorch's older
# ones, which are -idirafter.
function(belfry_use_protos target)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(${target} PRIVATE protobuf::libprotobuf)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
    target_include_directories(${target} BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/cmake/tsan)
  endif()
  if(NOT target STREQUAL belfry_core)
    add_dependencies(${target} belfry_core)  # which generates them
  endif()
endfunction()
