package lowering

// InTurn is inTurn, for tests in the package lowering_test.
var InTurn = inTurn
