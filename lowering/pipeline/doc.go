// Package pipeline decides when and on which stream the statements of a host program run. Its input is a
// program whose statements run one after the other on the caller's stream, with a Wait after each transfer.
// The package unrolls the program into instances of its statements and derives edges from the elements that
// these read and write. It then issues transfers as early as the schedule and the edges allow, and spreads
// the iterations of pipelines over the compute streams. It puts each Wait before the first statement that
// needs it. Finally it removes redundant waits.
//
// A statement B must follow a statement A for one of two reasons only. There is an edge from A to B, or A sets a
// ready flag and B is the copy of the same rank in the same exchange. The copy waits for the ready flag of a peer:
// if both ranks issued their copies first, each would wait for the other forever.
package pipeline
