package lowering

import "os"

// full makes tests try all combinations of schedule fields. The environment variable HIRGEN_TEST_FULL sets it.
var full = os.Getenv("HIRGEN_TEST_FULL") != ""

// inTurn reports whether to test a combination of schedule fields. A full run tests all combinations. Any other run
// tests only one of the values of a field for each combination of the other fields. value is the number of the field's
// value, out of values, and others are the numbers of the other fields' values. Their sum selects the value, so that
// combinations test different values.
func inTurn(value, values int, others ...int) bool {
	for _, n := range others {
		value += n
	}
	return full || value%values == 0
}

// atMost returns all in a full run, and quick in any other run.
func atMost(quick, all uint64) uint64 {
	if full {
		return all
	}
	return quick
}
