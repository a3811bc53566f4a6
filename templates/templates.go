// Package templates embeds the templates of emitted files: one for each file of a folder, one for each statement of the
// call IR under stmt/, and one for each form of NCCL calls under nccl/, and UCC's under ucc/.
//
// A template only spells. It takes no decision beyond "is this optional part
// there", does no arithmetic and has no variables; a test parses every one of them
// and rejects the rest. Package calls decides everything that varies.
package templates

import "embed"

// FS holds the templates under their paths, such as "stmt/Gemm.tmpl".
//
//go:embed *.tmpl nccl/*.tmpl ucc/*.tmpl stmt/*.tmpl
var FS embed.FS
