# Included by CMake after project() of an emitted program: its sources are compiled as one translation unit, but for the
# variant across nodes, which defines the same names.
file(GLOB variants ${CMAKE_CURRENT_SOURCE_DIR}/*_across_nodes.cpp)
set_source_files_properties(${variants} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
