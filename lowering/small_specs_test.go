package lowering

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// TestSmallSpecsKeepTheResult draws specs with equal extents. Each program has to keep all invariants after every pass,
// to be emitted, and to compute the results of the model. A spec may be rejected only if its shardings conflict or,
// with a Stream axis, because it cannot be lowered. At least 9 of 10 specs have to be accepted.
func TestSmallSpecsKeepTheResult(t *testing.T) {
	t.Parallel()
	count := int(atMost(250, 1500))
	g := &smallSpecs{Rand: rand.New(rand.NewPCG(1, 7))}
	accepted := 0
	for n := range count {
		source := g.spec(1 + g.IntN(3))
		refused, err := smallSpec(source, n%8 == 0)
		switch {
		case err == nil && refused == "":
			accepted++
		case err != nil:
			t.Errorf("%v\n%s", err, source)
		}
	}
	if accepted < count*9/10 {
		t.Errorf("%d of %d specs were accepted: that tests little", accepted, count)
	}
}

// alongRings has schedule fields that select steps: ring for all communications.
const alongRings = "pipeline: p2p, all: {steps: ring}"

// smallSpec lowers and emits a spec, and runs its program in the interpreter. With follow, it also runs the program
// after each pass. It returns the code of the error if lowering rejects the spec for a permitted reason.
func smallSpec(source string, follow bool) (refused diag.Code, err error) {
	p, err := model.Load("spec.yaml", []byte(source), nil)
	if err != nil {
		return "", fmt.Errorf("the generator: %w", err)
	}
	fit(p)
	o, err := lowertest.OracleOf(p, 3)
	if err != nil {
		return "", err
	}
	var wrong error
	options := Options{Verify: true}
	if follow {
		options.DumpAfter = func(pass, source string, changed bool) {
			if changed && wrong == nil {
				wrong = checkText(o, pass, source)
			}
		}
	}
	program, err := Host(p, options)
	if refused := refusal(err, strings.Contains(source, "Stream")); refused != "" || err != nil {
		if refused != "" {
			err = nil
		}
		return refused, err
	}
	if err := lowertest.CheckNeeds(program); err != nil {
		return "", err
	}
	lowered, err := Calls(program, Options{})
	if err == nil {
		_, err = emit.Render(lowered, emit.Options{})
	}
	if err != nil {
		return "", fmt.Errorf("accepted, but not emitted: %w", err)
	}
	check := o.Orders(program)
	for seed := range uint64(2) {
		if wrong == nil {
			wrong = check(seed)
		}
	}
	return "", wrong
}

// checkText parses the text of a program after a pass, and compares its outputs with the oracle.
func checkText(o *lowertest.Oracle, pass, source string) error {
	program, err := text.Parse(pass, source)
	if err == nil {
		err = o.Check(program, 1)
	}
	if err != nil {
		return fmt.Errorf("after %s: %w\n%s", pass, err, source)
	}
	return nil
}

// refusal returns the code of an error that a valid spec may cause, or "". With streams, NotLowerable is permitted,
// too.
func refusal(err error, streams bool) diag.Code {
	all, ok := diag.Diagnostics(err)
	if !ok {
		return ""
	}
	for _, d := range all.Items {
		if d.Code != diag.ShardingConflict && (d.Code != diag.NotLowerable || !streams) {
			return ""
		}
	}
	return all.Items[0].Code
}

// coinciding lists specs with equal extents, each with its mesh, tensors and operations. A pass that confuses two axes,
// or a shard with the whole tensor, may fail on them.
var coinciding = []string{
	"x: 2 | A: [4, DIDx], B: [D, 8], C: [4, 8] | C = matmul(A, B)",
	"x: 2 | A: [4, D], B: [DIDx, 8], C: [4, 8] | C = matmul(A, B)",
	"x: 2 | A: [4, DIDx], W: [8, D], C: [4, 8] | C = linear(A, W)",
	"x: 2 | A: [4, D], W: [8, DIDx], b: [8], C: [4, 8] | C = linear(A, W, b)",
	"x: 2 | A: [4, DIDx, 1], B: [D, 8], C: [4, 8] | Ak = reshape(A, shape=[4, D]); C = matmul(Ak, B)",
	"x: 2 | A: [4, 1, DIDx], B: [D, 8], C: [4, 8] | Ak = reshape(A, shape=[4, D]); C = matmul(Ak, B)",
	"x: 2 | A: [2, DIDx, 2], C: [2, 4] | C = reshape(A, shape=[2, 4])",
	"x: 2 | A: [2, DIDx, 2], C: [DIDx, 4] | C = reshape(A, shape=[2, 4])",
	"x: 2 | A: [4, DIDx], B: [DIDx, 2], C: [4, DIDx] | C = matmul(A, B)",
	"x: 2 | A: [2, DIDx], B: [DIDx, 3], C: [DIDx, 3] | C = matmul(A, B)",
	"x: 2 | A: [2, DIDx], W: [3, DIDx], b: [3], C: [DIDx, 3] | C = linear(A, W, b)",
	"x: 2 | A: [DIDx, 3], B: [3, DIDx], C: [D, DIDx] | C = matmul(A, B)",
	"x: 2 | A: [2, 2], C: [Stream(1), 2, 2] | C = broadcast(A, axis=0)",
	"x: 2 | A: [2, 2], C: [2, 2, Stream(1)] | C = broadcast(A, axis=2)",
	"x: 1 | A: [3], B: [DIDx], C: [3] | C = add(A, B)",
	"x: 3 | A: [3, DIDx], C: [DIDx, Stream(3)] | C = set(A)",
	"x: 2 | A: [2, 2, 2], B: [D, DIDx, 2], C: [D, 2, DIDx] | Bt = permute(B, perm=[1, 2, 0]); C = matmul(A, Bt)",
	"x: 2 | A: [4, 4], B: [DIDx, 2, 4], C: [16] | T = permute(A, perm=[1, 0]); U = reshape(T, shape=[D, 2, 4]); V = mul(U, B); C = " +
		"reshape(V, shape=[16])",
}

// TestCoincidingExtentsKeepTheResult runs the specs of coinciding with both values of reshard and several schedules.
func TestCoincidingExtentsKeepTheResult(t *testing.T) {
	t.Parallel()
	for _, line := range coinciding {
		part := strings.Split(line, " | ")
		for _, reshard := range []string{"before", "after"} {
			for _, pipeline := range []string{"pipeline: collective", "pipeline: p2p", alongRings, "preset: eager"} {
				source := fmt.Sprintf("hirgen: 1\nname: small\nparams: {D: %s}\nmesh: {x: D}\ntensors:\n  %s\nops:\n  - %s\nschedule: {reshard: "+
					"%s, %s}\n",
					strings.TrimPrefix(part[0], "x: "), strings.ReplaceAll(part[1], "], ", "]\n  "), strings.ReplaceAll(part[2], "; ", "\n  - "),
					reshard, pipeline)
				if refused, err := smallSpec(source, true); refused != "" || err != nil {
					t.Errorf("%s %v\n%s", refused, err, source)
				}
			}
		}
	}
}

// TestCollectivesBehindExchangesKeepTheResult checks a scatter after a point-to-point pipeline, in which ranks have the
// slices in different orders.
func TestCollectivesBehindExchangesKeepTheResult(t *testing.T) {
	for _, pipeline := range []string{"pipeline: p2p", alongRings} {
		source := "hirgen: 1\nname: small\nmesh: {x: 4}\ntensors:\n  A: [DIDx, 1, 8]\n  C: [Stream(4), 2, DIDx]\n" +
			"ops:\n  - C = reshape(A, shape=[4, 2, 4])\nschedule: {" + pipeline + "}\n"
		if refused, err := smallSpec(source, true); refused != "" || err != nil {
			t.Errorf("%s %v\n%s", refused, err, source)
		}
	}
}

// TestRowsThatAreAsManyAsRanks checks the example specs with reshard: after, at sizes at which axes have as many
// elements as there are ranks or slices. It skips point-to-point pipelines and schedule: auto.
func TestRowsThatAreAsManyAsRanks(t *testing.T) {
	for _, s := range specTexts(t) {
		for _, d := range []int64{2, 4} {
			values := sizes(d, d)
			values["M"], values["N"], values["K"] = d*d, 8*d, 16*d
			p := s.onMesh(t, "{x: D}", values)
			if p.Schedule.Exchanges() || p.Schedule.Get(schedule.Preset) == schedule.Auto {
				continue
			}
			choose(&p.Schedule, "reshard after")
			t.Run(fmt.Sprintf("%s/D=%d", s.name, d), func(t *testing.T) { keepsResult(t, p, 2) })
		}
	}
}
