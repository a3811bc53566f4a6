// Package lowering turns a pipeline (what is computed) into a host program (how): it
// builds the first host IR from the model's operations and rewrites it pass by pass,
// in the order of the table Passes. Each pass is one file with one exported function,
// whose comment says what it requires and what it establishes. The passes are in packages
// by idea: shard (where tensors lie and what moves), schedules, transport, fusion, streams,
// inplace, pipeline (what overlaps) and buffers. Here are the table, the driver and the tests
// of all of them together.
package lowering
