// Package templates embeds the templates of emitted files: templates of whole files, templates of the statements of the
// call IR under stmt/, and templates of communication calls under nccl/ and ucc/. A statement with several forms has a
// template for each, such as stmt/flag_wait and stmt/flag_wait_kernel.
//
// A template only prints. Each of its conditions tests a single value, such as an optional field. It makes no comparisons,
// does no arithmetic and has no variables; a test of package emit rejects templates that do. Packages calls and emit
// decide everything else that varies.
package templates

import "embed"

// FS holds the templates under their paths, such as "stmt/Gemm.tmpl".
//
//go:embed *.tmpl nccl/*.tmpl ucc/*.tmpl stmt/*.tmpl
var FS embed.FS
