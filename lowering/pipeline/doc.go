// Package pipeline decides when and on which stream the statements of a host program run. Its input is a
// program whose statements run one after the other on the caller's stream, with a Wait after each transfer.
// The package unrolls the program into instances of its statements and derives edges from the elements that
// these read and write. It then issues transfers as early as the schedule and the edges allow, and spreads
// the iterations of pipelines over the compute streams. It puts each Wait before the first statement that
// needs it. Finally it removes redundant waits.
//
// A statement must follow another for two reasons only. There is an edge, or a rank has to set its ready flag
// before the copy of the same exchange. This copy waits for the ready flag of a peer.
package pipeline
