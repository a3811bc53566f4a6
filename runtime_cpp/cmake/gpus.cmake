# Sets CMAKE_CUDA_ARCHITECTURES unless it is set already: to $CUDAARCHS, else to the architectures of this machine's
# GPUs, else to 90 (Hopper).
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES $ENV{CUDAARCHS})
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
        OUTPUT_VARIABLE capabilities RESULT_VARIABLE failed ERROR_QUIET)
    if(NOT failed)
      string(REGEX MATCHALL "[0-9]+[.][0-9]" CMAKE_CUDA_ARCHITECTURES "${capabilities}")
      list(TRANSFORM CMAKE_CUDA_ARCHITECTURES REPLACE "[.]" "")
      list(REMOVE_DUPLICATES CMAKE_CUDA_ARCHITECTURES)
    endif()
  endif()
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  message(STATUS "CUDA architectures: ${CMAKE_CUDA_ARCHITECTURES}")
endif()
