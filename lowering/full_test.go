package lowering

import "os"

// full asks for all combinations of choices, as HIRGEN_TEST_FULL does.
var full = os.Getenv("HIRGEN_TEST_FULL") != ""

// inTurn reports whether a combination of choices is tested: all are in a full run. Otherwise one of so many values
// of a field is, another one for each combination of the other fields, of which these are the numbers: each value
// of these still meets each other one, and the field has all of its values.
func inTurn(value, values int, others ...int) bool {
	for _, n := range others {
		value += n
	}
	return full || value%values == 0
}

// atMost is a count of a full run, or the one of another run.
func atMost(quick, all uint64) uint64 {
	if full {
		return all
	}
	return quick
}
