package lowering

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// block has the weights of a Llama block, split over the ranks, and its operations on whole tensors. # is the number of the layer. A
// block is 97 operations of the host IR.
var block = struct{ tensors, ops string }{
	"a#: [E]; Wq#: [DIDx, E/D, E]; Wk#: [DIDx, E/D, E]; Wv#: [DIDx, E/D, E]; Wo#: [E, DIDx, E/D]; b#: [E]; Wg#: [DIDx, F/D, E]; " +
		"Wu#: [DIDx, F/D, E]; Wd#: [E, DIDx, F/D]",
	"Rq# = reshape(Wq#, shape=[E, E]); Rk# = reshape(Wk#, shape=[E, E]); Rv# = reshape(Wv#, shape=[E, E]); " +
		"Ro# = reshape(Wo#, shape=[E, E]); Rg# = reshape(Wg#, shape=[F, E]); Ru# = reshape(Wu#, shape=[F, E]); " +
		"Rd# = reshape(Wd#, shape=[E, F]); N# = rms_norm(X#, a#); " +
		"q# = linear(N#, Rq#); k# = linear(N#, Rk#); v# = linear(N#, Rv#); " +
		"hq# = reshape(q#, shape=[1, L, H, C]); hk# = reshape(k#, shape=[1, L, H, C]); hv# = reshape(v#, shape=[1, L, H, C]); " +
		"rq# = rope(hq#, axis=1); rk# = rope(hk#, axis=1); " +
		"pq# = permute(rq#, perm=[0, 2, 1, 3]); pk# = permute(rk#, perm=[0, 2, 1, 3]); pv# = permute(hv#, perm=[0, 2, 1, 3]); " +
		"o# = attention(pq#, pk#, pv#, causal=true); po# = permute(o#, perm=[0, 2, 1, 3]); ro# = reshape(po#, shape=[L, E]); " +
		"O# = linear(ro#, Ro#); Y# = add(X#, O#); M# = rms_norm(Y#, b#); g# = linear(M#, Rg#); u# = linear(M#, Ru#); s# = silu(g#); " +
		"h# = mul(s#, u#); d# = linear(h#, Rd#); X+ = add(Y#, d#)",
}

// blocks returns a spec of Llama blocks one after the other. It declares no placement of a result.
func blocks(t *testing.T, layers int, preset string, sizes map[string]int64) *model.Pipeline {
	t.Helper()
	var tensors, ops strings.Builder
	for i := range layers {
		numbered := strings.NewReplacer("#", fmt.Sprint(i), "+", fmt.Sprint(i+1))
		tensors.WriteString("  " + numbered.Replace(strings.ReplaceAll(block.tensors, "; ", "\n  ")) + "\n")
		ops.WriteString("  - " + numbered.Replace(strings.ReplaceAll(block.ops, "; ", "\n  - ")) + "\n")
	}
	spec := "hirgen: 1\nname: blocks\nparams: {D: 2, L: 4096, H: 32, C: 128, E: H*C, F: 7*E/2}\nmesh: {x: D}\ndtype: bf16\n" +
		"schedule: " + preset + "\ntensors:\n  X0: [L, E]\n" + tensors.String() + fmt.Sprintf("  X%d: [L, E]\nops:\n", layers) + ops.String()
	p, err := model.Load("spec.yaml", []byte(spec), sizes)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlacementsOfManyLayers checks that programs of more than 256 operations get derived placements: eight blocks communicate in
// each layer what one block does, on 2, 3 and 4 ranks, and every pass keeps the results of three blocks.
func TestPlacementsOfManyLayers(t *testing.T) {
	t.Parallel()
	for _, d := range []int64{2, 3, 4} {
		sizes := map[string]int64{"D": d, "H": 36, "C": 64}
		for _, layers := range []int{1, 8} {
			program, err := Host(blocks(t, layers, schedule.None, sizes), Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for c := range hostir.Each[*hostir.Communication](program.Body) {
				got = append(got, string(c.Type))
			}
			if want := slices.Repeat([]string{"Allreduce", "Allreduce"}, layers); !slices.Equal(got, want) {
				t.Errorf("%d ranks, %d layers: %v", d, layers, got)
			}
		}
		p := blocks(t, 3, schedule.None, map[string]int64{"D": d, "L": 4, "H": 12, "C": 2, "F": 24})
		followPasses(t, p, lowertest.NewOracle(t, p, uint64(d)))
	}
}

// TestAutoOfManyOpenLayers checks that schedule: auto chooses derived placements for eight blocks, that these take at most 1 % longer
// than eight calls of one block, and that NextBest knows the next best placements of the layers that it searches.
func TestAutoOfManyOpenLayers(t *testing.T) {
	t.Parallel()
	m, err := cost.LoadMachine(schedules.MeasuredMachine)
	if err != nil {
		t.Fatal(err)
	}
	us := map[int]float64{}
	for _, layers := range []int{1, 8} {
		program, err := Host(blocks(t, layers, schedule.Auto, nil), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(program.Auto.Basis, "derived placements") || !program.Derived.Applied {
			t.Errorf("%d layers: %s", layers, program.Auto.Basis)
		}
		lowered, err := Calls(program, Options{})
		if err != nil {
			t.Fatal(err)
		}
		prediction, err := cost.Predict(lowered.Programs(), m)
		if err != nil {
			t.Fatal(err)
		}
		us[layers] = prediction.Total
		next, err := schedules.NextBest(program, m)
		if err != nil {
			t.Fatal(err)
		}
		moves := hostir.Movements(program)
		if first := next(moves[0]); first.Us == nil || *first.Us <= 0 {
			t.Errorf("%d layers, %s: %s", layers, moves[0].Why(), first)
		}
		last := next(moves[len(moves)-1])
		if searched := last.Us != nil; searched != (layers == 1) ||
			!searched && last.Instead != "none, since hirgen looks for it in the first 194 operations only" {
			t.Errorf("%d layers, %s: %s", layers, moves[len(moves)-1].Why(), last)
		}
	}
	if us[8] > 1.01*8*us[1] {
		t.Errorf("8 layers take %.1f us, and one %.1f us", us[8], us[1])
	}
}

// TestNextBestOfManyBiases checks that NextBest knows the sums before biases in the beginning of a large program.
func TestNextBestOfManyBiases(t *testing.T) {
	t.Parallel()
	m, err := cost.LoadMachine(schedules.MeasuredMachine)
	if err != nil {
		t.Fatal(err)
	}
	for _, layers := range []int{1, 60} {
		spec := "hirgen: 1\nname: biased\nmesh: {x: 2}\ndtype: bf16\ntensors:\n  X0: [4096, 4096]\n"
		ops := "ops:\n"
		for i := range layers {
			spec += fmt.Sprintf("  V%[1]d: [DIDx, 8192, 4096]\n  W%[1]d: [4096, DIDx, 8192]\n  b%[1]d: [4096]\n", i)
			ops += fmt.Sprintf("  - F%[1]d = reshape(V%[1]d, shape=[16384, 4096])\n  - G%[1]d = reshape(W%[1]d, shape=[4096, 16384])\n"+
				"  - H%[1]d = linear(X%[1]d, F%[1]d)\n  - A%[1]d = gelu(H%[1]d)\n  - X%[2]d = linear(A%[1]d, G%[1]d, b%[1]d)\n", i, i+1)
		}
		p, err := model.Load("spec.yaml", []byte(spec+ops), nil)
		if err != nil {
			t.Fatal(err)
		}
		program, err := Host(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		next, err := schedules.NextBest(program, m)
		if err != nil {
			t.Fatal(err)
		}
		first := hostir.Movements(program)[0]
		if found := next(first); found == nil || found.Us == nil {
			t.Errorf("%d layers, %s: %s", layers, first.Why(), found)
		}
	}
}
