// Package lowering turns a pipeline (what to compute) into a host program (how to compute it), and the host program
// into calls. It builds the first host IR from the model's operations and rewrites it pass by pass, in the order of the
// table Passes. Each pass is one exported function, whose comment states what the pass requires or establishes. The
// passes are grouped in packages: shard (distribution of tensors and communication), schedules (with placements of
// tensors, which package place derives), transport, fusion, streams, inplace, pipeline (overlap) and buffers. Package
// fromhost translates the host program to calls. This package has the table, the driver, and the tests of all passes
// together.
package lowering
