// Package pipeline decides when and where the statements of a host program run. It takes a
// program whose statements run one after the other on the caller's stream, with a Wait behind
// each transfer, and finds out what may overlap: it unrolls the program into the instances of
// its statements, and derives edges from the elements that they read and write. Transfers are
// then issued as early as edges allow, the iterations of pipelines are spread over the compute
// streams, and each Wait goes in front of the first statement that needs it. What other waits imply is left out.
//
// Nothing here knows the kinds of pipelines: edges are the only reasons for an order.
package pipeline
