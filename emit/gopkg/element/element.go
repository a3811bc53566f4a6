// Package element has the element types that Go lacks. Emitted folders get copies of its files bf16.go and fp16.go if
// they need them.
package element

import "embed"

// FS holds the source of each type. A file is named after the type, in lower case.
//
//go:embed bf16.go fp16.go
var FS embed.FS
