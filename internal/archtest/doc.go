// Package archtest tests which packages may import which. It has tests only.
//
// hirgen works in one direction, from the model to the host IR to the emitted folder. The imports follow: a package
// knows earlier stages through a given vocabulary, and never imports a later one.
package archtest
