// Package doctor checks whether a machine can build and run emitted programs. For each missing part it reports what
// does not work and, if it can be installed, how. It looks in the same places as the CMake files of emitted
// programs.
package doctor
