// Package templates embeds the text of everything that hirgen prints in C++ and
// CMake: one small template per file of an emitted folder, one per statement of the call IR under
// stmt/, and one per NCCL call under nccl/.
//
// A template only spells. It takes no decision beyond "is this optional part
// there", does no arithmetic and has no variables; a test parses every one of them
// and rejects the rest. What varies is decided in package lowering/calls.
package templates

import "embed"

// FS holds the templates under their paths, such as "stmt/Gemm.tmpl".
//
//go:embed *.tmpl nccl/*.tmpl stmt/*.tmpl
var FS embed.FS
