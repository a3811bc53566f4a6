# Finds cuDNN. Its headers and library come as a package of the Python registry, nvidia-cudnn-cu13, which PyTorch
# brings, or from the system. The headers of its C++ frontend are here, in third_party.
#
#   Cudnn_FOUND          the headers are there; the library may be found when a program runs
#   CUDNN_INCLUDE_DIRS   of cudnn.h and cudnn_frontend.h
#   CUDNN_LIBRARY        libcudnn.so.9, or nothing
#
# cudnn.h and the library are looked for under CUDNN_ROOT (a variable of CMake or of the environment), next to CUDA,
# among Python's packages, and in the system's folders. CUDNN_FRONTEND_ROOT names another version of the frontend.
find_program(CUDNN_PYTHON NAMES python3 python)
set(cudnn_packages)
if(CUDNN_PYTHON)
  execute_process(COMMAND ${CUDNN_PYTHON} -c "import sysconfig; print(sysconfig.get_paths()['purelib'])"
                  OUTPUT_VARIABLE cudnn_packages OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(cudnn_hints ${CUDNN_ROOT} $ENV{CUDNN_ROOT} ${CUDAToolkit_TARGET_DIR}/../cudnn
    ${cudnn_packages}/nvidia/cudnn ${cudnn_packages}/nvidia/cudnn_jit)
find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${cudnn_hints} PATH_SUFFIXES include)
find_library(CUDNN_LIBRARY NAMES libcudnn.so.9 HINTS ${cudnn_hints} PATH_SUFFIXES lib lib64)
find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h NO_DEFAULT_PATH PATH_SUFFIXES include
          PATHS ${CUDNN_FRONTEND_ROOT} $ENV{CUDNN_FRONTEND_ROOT} ${CMAKE_CURRENT_LIST_DIR}/../third_party/cudnn_frontend)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cudnn REQUIRED_VARS CUDNN_INCLUDE_DIR CUDNN_FRONTEND_INCLUDE_DIR)
set(CUDNN_INCLUDE_DIRS ${CUDNN_FRONTEND_INCLUDE_DIR} ${CUDNN_INCLUDE_DIR})
if(NOT CUDNN_LIBRARY)
  set(CUDNN_LIBRARY "")
endif()
mark_as_advanced(CUDNN_PYTHON CUDNN_INCLUDE_DIR CUDNN_LIBRARY CUDNN_FRONTEND_INCLUDE_DIR)
