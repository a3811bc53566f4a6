package shard

// Multipliable lets tests of whole lowerings ask how operands lie.
var Multipliable = multipliable
