// Package element has the element types that Go lacks, as the packages of emitted folders have them: each of its
// files but this one is copied into those that need it.
package element

import "embed"

// FS holds the source of each type, by its name in lower case.
//
//go:embed bf16.go fp16.go
var FS embed.FS
