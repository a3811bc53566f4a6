package shard

// Multipliable lets tests of whole lowerings check the layouts of operands.
var Multipliable = multipliable
