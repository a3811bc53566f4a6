// Package doctor looks at a machine: what emitted programs are built with and run on, what does not work without what is
// missing, and how to install that. The places are those where the CMake files of emitted programs look.
package doctor
