// Package element has the element types that Go lacks. Emitted folders get copies of the files of the types that
// they need.
package element

import "embed"

// FS holds the source of each type. The file of a type has the value of its domain.DType as its name: fp8_e4m3.go.
//
//go:embed *.go
var FS embed.FS
