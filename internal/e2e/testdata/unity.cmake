# CMake includes this file after project() of an emitted program. It compiles the program's sources as one translation
# unit, except the fallback variant (*_across_nodes.cpp), which defines the same names.
file(GLOB variants ${CMAKE_CURRENT_SOURCE_DIR}/*_across_nodes.cpp)
set_source_files_properties(${variants} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
