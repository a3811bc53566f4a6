// Package archtest tests the structure of the source: imports, the number of tokens, the width of lines, and
// docs/conformance.md.
//
// hirgen works in one direction, from the model to the host IR to the emitted folder. The imports follow: a package
// imports only those packages of earlier stages that its entry in mayImport lists, and never a later stage.
package archtest
