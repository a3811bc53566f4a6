// Package archtest holds the rule of who may import whom. It has tests and nothing else.
//
// The flow of hirgen goes one way, from the model to the host IR to the emitted folder,
// and so do the imports: a package sees what comes before it through the vocabulary it
// is given, never the other way round.
package archtest
