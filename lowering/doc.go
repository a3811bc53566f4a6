// Package lowering turns a pipeline (what is computed) into a host program (how): it
// builds the first host IR from the model's operations and rewrites it pass by pass,
// in the order of the table Passes. Each pass is one file with one exported function,
// whose comment says what it requires and what it establishes. The passes on where tensors
// lie and what moves between ranks are in package shard.
package lowering
