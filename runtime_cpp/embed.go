// Package runtime_cpp embeds the constant part of every emitted program: ordinary
// C++ and CUDA with its own tests. Emit copies it into a folder, so that the folder
// builds alone.
//
// Go files live above include/, src/ and cpu/, since a Go package may not hold C++.
package runtime_cpp

import "embed"

// FS holds the headers and sources, and what packages for PyTorch share, under their paths in this folder.
//
//go:embed include src cpu cmake third_party ucc
//go:embed python/runtime/*.py
var FS embed.FS
