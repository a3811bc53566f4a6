// Package pipeline decides when and on which stream the statements of a host program run. Its input is a
// program whose statements run one after the other on the caller's stream, with a Wait after each transfer.
// The package unrolls the program into instances of its statements and derives edges from the elements that
// these read and write. It then issues transfers as early as the edges allow, spreads the iterations of
// pipelines over the compute streams, and puts each Wait before the first statement that needs it. Finally it
// removes redundant waits.
//
// The package does not depend on the kinds of pipelines: edges are the only reasons for an order.
package pipeline
