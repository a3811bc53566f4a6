// Package runtime_cpp embeds the C++ and CUDA sources that all emitted programs share. Their tests are in this folder,
// too. Package emit copies the files that a program needs into its folder, so that the folder builds alone.
//
// The Go files are next to include/, src/ and cpu/, not in them, because the go command rejects C++ files in the folder
// of a Go package.
package runtime_cpp

import "embed"

// FS holds the headers, sources and CMake files, and the Python modules that emitted PyTorch packages share, under
// their paths in this folder.
//
//go:embed include src cpu cmake third_party ucc
//go:embed python/runtime/*.py
var FS embed.FS
