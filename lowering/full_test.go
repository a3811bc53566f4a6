package lowering

import "os"

// full selects all combinations of choices. HIRGEN_TEST_FULL sets it.
var full = os.Getenv("HIRGEN_TEST_FULL") != ""

// inTurn reports whether a combination of choices is tested. A full run tests all. Any other run tests, for each
// combination of the other fields, one of the values of a field. value and others are the numbers of the choices.
// The sum of others selects the value, so that combinations test different values.
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
