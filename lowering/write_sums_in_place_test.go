package lowering

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// writtenSums visits matmuls whose sums over ranks are written to the memory of all ranks, with several schedules and
// several uses of the gathered sum.
func writtenSums(t *testing.T, d int, visit func(t *testing.T, p *model.Pipeline)) {
	t.Helper()
	const tensors = "A: [DIDx, D, 6, 2], B: [DIDx, 2, 4], P: [DIDx, Stream(D), 6, 4], R: [r(D), DIDx, 6, 4], C: [Stream(D), 6, 4]"
	const ops = "Bb = broadcast(B, axis=1), P = matmul(A, Bb), R = sum(P, axis=0), C = set(R)"
	for name, more := range map[string][2]string{
		"gathered": {},
		"consumed": {", E: [Stream(D), 6, 4], F: [DIDx, 6, 4]", ", E = relu(C), F = relu(R)"},
		"whole":    {", G: [D, 6, 4]", ", G = relu(C)"},
		"twice":    {", E: [Stream(D), 6, 4]", ", E = set(R)"},
	} {
		for _, lead := range []string{"none", "all"} {
			for _, steps := range []string{"rotation", "reverse"} {
				for _, local := range []string{"first", "last"} {
					for i, n := range []int{0, 1, 2 * d} {
						if !inTurn(i, 3, d, len(name), len(lead), len(steps), len(local)) {
							continue
						}
						t.Run(strings.Join([]string{name, lead, steps, local}, "/"), func(t *testing.T) {
							p := lowertest.Pipeline(t, int64(d), tensors+more[0], ops+more[1])
							choose(&p.Schedule, "pipeline p2p, all.via ipc-get, all.fuse peer-read, all.signals batched, buffers free",
								"all.lead "+lead, "all.steps "+steps, "all.local "+local, gemms(int64(n), int64(d)))
							fit(p)
							visit(t, p)
						})
					}
				}
			}
		}
	}
}

// TestWrittenSums checks that exactly one send in each of these programs writes the sum, and that the results stay the
// same.
func TestWrittenSums(t *testing.T) {
	t.Parallel()
	for _, d := range []int{2, 3, 4} {
		writtenSums(t, d, func(t *testing.T, p *model.Pipeline) {
			t.Helper()
			program := keepsResult(t, p, 8)
			written := 0
			for s := range hostir.All(program.Body) {
				if sum, ok := s.(*hostir.PeerReadSum); ok {
					for send := range hostir.Each[*hostir.P2PCommunication](sum.Body) {
						if send.Send {
							written++
						}
					}
				}
			}
			if written != 1 {
				t.Errorf("the sum is written by %d sends, not by one:\n%s", written, text.Print(program))
			}
		})
	}
}

// TestWrittenSumsNeedTheirWaits removes all Waits at once. Some order of execution then has to fail.
func TestWrittenSumsNeedTheirWaits(t *testing.T) {
	writtenSums(t, 3, func(t *testing.T, p *model.Pipeline) {
		t.Helper()
		o := lowertest.NewOracle(t, p, 5)
		program, err := Host(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		program.Body = hostir.Rewrite(program.Body, func(s hostir.Stmt) []hostir.Stmt {
			if _, waits := s.(*hostir.Wait); waits {
				return nil
			}
			return []hostir.Stmt{s}
		})
		check := o.Orders(program)
		for seed := range uint64(200) {
			if check(seed) != nil {
				return
			}
		}
		t.Errorf("without waits nothing goes wrong\n%s", text.Print(program))
	})
}
