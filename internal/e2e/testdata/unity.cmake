# CMake includes this file after project() of an emitted program. It keeps the fallback variant (*_across_nodes.cpp), which
# defines the same names as the other sources, out of the unity build.
file(GLOB variants ${CMAKE_CURRENT_SOURCE_DIR}/*_across_nodes.cpp)
set_source_files_properties(${variants} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
