# The library "device" for GPUs: CUDA, cuBLASLt and NCCL. CMake looks for NCCL under NCCL_ROOT, next
# to CUDA and in the system's folders. cuDNN's headers are optional.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90)  # Hopper; for Ampere: -DCMAKE_CUDA_ARCHITECTURES=80
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  # CMake before 3.26 does not know that nvcc compiles C++20.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
find_package(CUDAToolkit REQUIRED)

set(nccl_hints ${NCCL_ROOT} $ENV{NCCL_ROOT} ${CUDAToolkit_TARGET_DIR} ${CUDAToolkit_TARGET_DIR}/../nccl)
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${nccl_hints} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${nccl_hints} PATH_SUFFIXES lib lib64)
if(NOT NCCL_INCLUDE_DIR OR NOT NCCL_LIBRARY)
  message(FATAL_ERROR "nccl.h or libnccl was not found; say where NCCL is: -DNCCL_ROOT=<folder>")
endif()
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_SOURCE_DIR}/cmake)
find_package(Cudnn)

add_library(device INTERFACE)
target_include_directories(device SYSTEM INTERFACE ${NCCL_INCLUDE_DIR} ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(device INTERFACE CUDA::cudart CUDA::cublasLt ${NCCL_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})

# Lets the library call cuDNN, if CMake has found its headers. Programs load libcudnn when they run.
function(use_cudnn library)
  if(NOT Cudnn_FOUND)
    return()
  endif()
  target_include_directories(${library} SYSTEM PRIVATE ${CUDNN_INCLUDE_DIRS})
  target_compile_definitions(${library} PRIVATE
      NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING CUDNN_FRONTEND_SKIP_JSON_LIB HIRGEN_CUDNN="${CUDNN_LIBRARY}")
  # cuDNN's frontend headers take longer to compile than the rest of the runtime.
  set_source_files_properties(src/attention/cudnn.cpp PROPERTIES
      SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS -O1)
endfunction()
