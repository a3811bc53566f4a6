// Package archtest tests the structure of the source: imports, the number of tokens, the width of lines, and
// docs/conformance.md.
//
// hirgen works in one direction, from the model to the host IR to the emitted folder. The imports follow: a package
// imports only those packages of the module that its entry in mayImport lists, and internal/base/lists. So the model
// cannot import the lowering, and emit can import neither the lowering nor the package model.
package archtest
