// Package element has the element types that Go lacks. Emitted folders get copies of the files of the types that
// they need.
package element

import "embed"

// FS holds the source of each type. A file is named after the type, in lower case.
//
//go:embed *.go
var FS embed.FS
