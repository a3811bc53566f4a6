package verify

import (
	"os"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls/text"
)

// TestVerifyCatches checks that wrong programs are rejected. Each differs from a correct program in one respect.
func TestVerifyCatches(t *testing.T) {
	data, err := os.ReadFile("testdata/right.txt")
	if err != nil {
		t.Fatal(err)
	}
	right := string(data)
	if p, err := text.Parse("right", right); err != nil || Program(p) != nil {
		t.Fatal(err, Program(p))
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"a wait before its record": {"EventRecord(event started_, index 0, on caller)\n", "",
			"the event was not recorded before in this call"},
		"events that nobody declared": {"event sent_, index s, on copy", "event lost_, index s, on copy", "no event is called lost_"},
		"a shape that is not alike":   {"Shape(name kTShape,", "Shape(name kTShape, like kUShape,", "kTShape: it is not like kUShape"},
		"a flag that nobody writes": {"  FlagWrite(share P_shared, done, transfer s, peer to, on copy)\n", "",
			"nobody writes flag P_shared done[1] of rank"},
		"a flag that nobody waits for": {"  FlagWait(share P_shared, transfer s, on copy)\n", "",
			"nobody waits for flag P_shared ready[1] of rank"},
		"a flag that is written twice": {"  FlagWrite(share P_shared, done, transfer s, peer to, on copy)\n",
			"  FlagWrite(share P_shared, done, transfer s, peer to, on copy)\n  FlagWrite(share P_shared, done, transfer s, peer to, on copy)\n",
			"is written 2 times in a call"},
		"a stream that is not joined": {"  StreamWait(event sent_, index s, on caller)\n", "", "the caller's stream is not behind stream copy"},
		"a part outside of its batch": {"FlagWait(share P_shared, done, transfer s, batch returns)",
			"FlagWait(share P_shared, done, transfer s, on caller)", "stands outside of what it is a part of"},
		"a copy in a batch of waits": {"    FlagWait(share P_shared, done, transfer s, batch returns)",
			"    FlagWait(share P_shared, done, transfer s, batch returns)\n    Memcpy(out U_, in C, elements 8, type bf16, batch returns)",
			"elements 8, type bf16, batch returns): it is no part of what it stands in"},
		"a copy with a stream in a kernel": {"Memcpy(out V_, in U_, elements 8, type bf16, on caller)",
			"MemOpBatch(name some, use memcpy, kernel, on caller):\n  Memcpy(out V_, in U_, elements 8, type bf16, batch some, on caller)",
			"it is no part of what it stands in"},
		"more copies than a kernel takes": {"Memcpy(out V_, in U_, elements 8, type bf16, on caller)",
			"MemOpBatch(name some, use memcpy, kernel, on caller):" +
				strings.Repeat("\n  Memcpy(out V_, in U_, elements 8, type bf16, batch some)", 17),
			"some is no kernel of up to 16 copies"},
		"copies without a kernel": {"Memcpy(out V_, in U_, elements 8, type bf16, on caller)",
			"MemOpBatch(name some, use memcpy, on caller):\n  Memcpy(out V_, in U_, elements 8, type bf16, batch some)",
			"some is no kernel of up to 16 copies"},
		"a share that is not there": {"FlagWait(share P_shared, transfer s, on copy)", "FlagWait(share Q_shared, transfer s, on copy)",
			"no share is called Q_shared"},
		"memory that is in use still": {"Memcpy(out V_, in U_, elements 8", "Memcpy(out V_, in T_, elements 8",
			"V_: T_, in the same memory, may still be in use"},
		"memory that is not joined": {"Memcpy(out U_, in T_ + 8, elements 8, type bf16, on caller)",
			"Memcpy(out U_, in T_ + 4, elements 8, type bf16, on copy)", "V_: T_, in the same memory, may still be in use"},
		"memory that is too small": {"T_, type bf16, elements 16", "T_, type bf16, elements 4", "V_: T_ has 8 bytes, and it needs 16"},
		"memory in memory of others": {"Buffer(name V_,",
			"Buffer(name W_, in V_, type bf16, elements 8, where \"spec.yaml:15:5 W\")\nBuffer(name V_,",
			"W_: it is not in the memory of a buffer that the same ranks have"},
		"memory behind the end": {"Buffer(name V_, in T_", "Buffer(name V_, in T_, offset 256", "V_: T_ has 32 bytes, and it needs 272"},
		"memory at an odd place": {"Buffer(name V_, in T_", "Buffer(name V_, in T_, offset 16",
			"V_: it begins 16 bytes behind T_, which is no multiple of 256"},
		"memory of a result": {"Buffer(name V_, in T_", "Buffer(name V_, in E", "V_: E, in the same memory, may still be in use"},
		"memory of the caller's": {"Buffer(name V_, in T_", "Buffer(name V_, in C",
			"V_: it is not in the memory of a buffer that the same ranks have"},
		"a workspace that is in use": {"  Memcpy(out P_shared[to] + rank * 8, in A,",
			"  Gemm(shape kTShape, out P_shared[to], a A, b A, on copy)\n  Memcpy(out P_shared[to] + rank * 8, in A,",
			"its workspace may be in use"},
		"steps that are not printed":      {"  finish\n", "", "section \"destroy\" has other steps than the program that is printed"},
		"shared memory that is not there": {"memory C, tensor", "memory X, tensor", "no memory is called X"},
		"memory that other ranks have":    {"memory C, tensor", "memory V_, tensor", "V_: T_, in the same memory, may still be in use"},
		"memory at the end of a call": {"Memcpy(out V_, in U_, elements 8, type bf16, on caller)",
			"Memcpy(out V_, in U_, elements 8, type bf16, on late)", "V_: it has the memory of another buffer, and other calls may use it"},
	} {
		if !strings.Contains(right, c.old) {
			t.Fatalf("%s: %q is not in the program", name, c.old)
		}
		p, err := text.Parse("wrong", strings.Replace(right, c.old, c.new, 1))
		if err != nil {
			t.Fatal(name, err)
		}
		if err := Program(p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}
