// Package element has the element types that Go lacks. Emitted folders get copies of the files of the types that
// they need.
package element

import "embed"

// FS holds the Go files of this folder. The file of a type is named after its domain.DType: fp8_e4m3.go.
//
//go:embed *.go
var FS embed.FS
