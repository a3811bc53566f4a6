// Package templates embeds the text of everything that hirgen prints in C++ and
// CMake: one small template per file of an emitted folder, one per data member under member/,
// and one per statement under stmt/.
//
// A template only spells. It takes no decision beyond "is this optional part
// there", does no arithmetic and has no variables; a test parses every one of them
// and rejects the rest. What varies is decided by the views of package emit.
package templates

import "embed"

// FS holds the templates under their paths, such as "stmt/matmul.tmpl".
//
//go:embed *.tmpl member/*.tmpl stmt/*.tmpl
var FS embed.FS
