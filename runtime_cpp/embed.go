// Package runtime_cpp embeds the constant part of emitted programs: ordinary C++ and
// CUDA, whose tests are in this folder. Package emit copies what a program needs into
// its folder, so that the folder builds alone.
//
// Go files live above include/, src/ and cpu/, since a Go package may not hold C++.
package runtime_cpp

import "embed"

// FS holds headers, sources and CMake files, and what packages for PyTorch share, under their paths in this folder.
//
//go:embed include src cpu cmake third_party ucc
//go:embed python/runtime/*.py
var FS embed.FS
