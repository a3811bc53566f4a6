package names

import "testing"

func TestNames(t *testing.T) {
	for _, c := range []struct {
		name    string
		program bool
		fine    bool
	}{
		{"A", false, true}, {"x", false, true}, {"r", false, true}, {"b", false, true}, {"W_out2", false, true}, {"ag_matmul", true, true},
		{"mlp", true, true}, {"E", false, true}, {"cu", false, true}, {"culture", false, true}, {"max_len", false, true}, {"all", false, true},
		{"all", true, false}, {"test", true, false}, {"main", true, false}, {"con", true, false},
		{"cpu", false, true}, {"cpu", true, false},
		{"cuMemAlloc", false, false}, {"CU_STREAM_LEGACY", false, false}, {"EDOM", false, false}, {"M_PIf", false, false},
		{"WNOHANG", false, false},
		{"ncclAllGather", false, false}, {"hirgen_x", false, false}, {"HG_CHECK", false, false}, {"co_await", false, false}, {"or", false, false},
		{"DIDx", false, false}, {"Stream", false, false}, {"rank", false, false}, {"stream", false, false}, {"errno", false, false},
		{"", false, false}, {"a-b", false, false}, {"9a", false, false}, {"a__b", false, false}, {"a_", false, false}, {"_a", false, false},
		{"a\n", false, false},
	} {
		if got := Fault(c.name) == "" && ReservedBy(c.name, c.program) == ""; got != c.fine {
			t.Errorf("%q (program %v): %v, want %v; %s%s", c.name, c.program, got, c.fine, Fault(c.name), ReservedBy(c.name, c.program))
		}
	}
}
