# Finds cuDNN. Its headers and library come from the Python package nvidia-cudnn-cu13, which PyTorch installs, or from
# the system. The headers of cuDNN's C++ frontend are in ../third_party.
#
#   Cudnn_FOUND          the headers were found; programs may find the library later, at run time
#   CUDNN_INCLUDE_DIRS   the folders of cudnn_frontend.h and cudnn.h
#   CUDNN_LIBRARY        the path of libcudnn.so.9, or "" if it was not found
#   CUDNN_MISSING        if headers were not found: which, and how to get them
#
# Searches for cudnn.h and the library under CUDNN_ROOT (a variable of CMake or of the environment), next to CUDA, among
# Python's packages, and in the system's folders. CUDNN_FRONTEND_ROOT is the folder of another version of the frontend,
# if set.
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

set(CUDNN_MISSING "")
if(NOT CUDNN_INCLUDE_DIR)
  set(CUDNN_MISSING "cudnn.h was not found (pip install nvidia-cudnn-cu13 brings it)")
elseif(NOT CUDNN_FRONTEND_INCLUDE_DIR)
  set(CUDNN_MISSING "cudnn_frontend.h was not found (the folder of the runtime has it in third_party/cudnn_frontend)")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cudnn REQUIRED_VARS CUDNN_INCLUDE_DIR CUDNN_FRONTEND_INCLUDE_DIR)
set(CUDNN_INCLUDE_DIRS ${CUDNN_FRONTEND_INCLUDE_DIR} ${CUDNN_INCLUDE_DIR})
if(NOT CUDNN_LIBRARY)
  set(CUDNN_LIBRARY "")
endif()
mark_as_advanced(CUDNN_PYTHON CUDNN_INCLUDE_DIR CUDNN_LIBRARY CUDNN_FRONTEND_INCLUDE_DIR)
