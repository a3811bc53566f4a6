package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// scheduleChoices are the fields of a point-to-point schedule with the values that are tried,
// on four ranks.
var scheduleChoices = []struct {
	field  string
	values []string
}{
	{"pipeline", []string{"p2p", "p2p", "p2p", "ring"}},
	{"transport", []string{"nccl", "ipc-get", "auto", "ipc-put"}},
	{"streams", []string{"0", "1", "2", "3"}},
	{"sync", []string{"split", "fused"}},
	{"joins", []string{"body", "after"}},
	{"own", []string{"in-place", "copied"}},
	{"transfers", []string{"inline", "ahead"}},
	{"order", []string{"rotation", "reverse", "pairwise"}},
	{"own_step", []string{"first", "last"}},
	{"chunks", []string{"4", "8", "2", "1"}},
	{"copy", []string{"engine", "kernel", "fused"}},
	{"signals", []string{"single", "batched"}},
	{"delay", []string{"0", "3"}},
	{"graph", []string{"false", "true"}},
	{"hosts", []string{"none", "none", "x"}},
	{"sums", []string{"added", "folded", "direct"}},
	{"pieces", []string{"1", "2", "4"}},
}

// exchangeSpecs are the examples that are tried, by the remainder of the seed.
var exchangeSpecs = []string{"ag_matmul_p2p", "ag_linear_p2p", "allgather_p2p", "matmul_rs_p2p", "matmul_ar_p2p"}

func exchangeSpec(seed uint64) string { return exchangeSpecs[seed%uint64(len(exchangeSpecs))] }

// combination is one of all schedules: a seed picks a value of each field.
func combination(seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 11))
	chosen := map[string]string{}
	for _, c := range scheduleChoices {
		chosen[c.field] = c.values[random.IntN(len(c.values))]
	}
	if chosen["pipeline"] == "ring" && (chosen["chunks"] == "1" || chosen["chunks"] == "2") {
		chosen["chunks"] = "8" // a ring passes on whole slices or pieces of them
	}
	if chosen["pipeline"] == "ring" && chosen["order"] == "pairwise" {
		chosen["order"] = "rotation" // a ring has no pairs
	}
	sums := slices.Contains([]string{"matmul_rs_p2p", "matmul_ar_p2p"}, exchangeSpec(seed))
	if chosen["sums"] == "direct" && (!sums || !readsInPlace(chosen)) {
		chosen["sums"] = "added"
	}
	switch {
	case chosen["pieces"] == "1":
	case !sums || chosen["pipeline"] != "p2p":
		chosen["pieces"] = "1" // pieces are those of a sum at a distance
	case chosen["chunks"] == "8":
		delete(chosen, "chunks") // slices take turns, and not pieces
	case chosen["chunks"] == "4":
		chosen["chunks"] = "D"
	}
	var fields []string
	for _, c := range scheduleChoices {
		if value, given := chosen[c.field]; given {
			fields = append(fields, c.field+": "+value)
		}
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// readsInPlace reports whether ranks can read parts of sums where they are: whole parts that are lent
// to ranks which get them.
func readsInPlace(chosen map[string]string) bool {
	gets := chosen["transport"] == "ipc-get" || chosen["transport"] == "auto"
	return gets && chosen["pipeline"] == "p2p" && chosen["pieces"] == "1" && chosen["hosts"] == "none"
}

// combined is an example with one of all schedules, for four ranks, in one of all settings.
func combined(t *testing.T, seed uint64) (name, spec string, values params) {
	t.Helper()
	name = exchangeSpec(seed)
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "specs", name, "spec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	where, d := settings[seed/uint64(len(exchangeSpecs))%uint64(len(settings))], int64(2)
	if where.name == "all" {
		d = 4
	}
	spec = regexp.MustCompile(`(?m)^schedule: .*$`).ReplaceAllString(where.place(string(text), d), "schedule: "+combination(seed))
	return name + " in " + where.name, renamed.ReplaceAllString(spec, "name: exchange"), small(name, d)
}

// TestEveryCombinationIsEmitted lowers and renders many schedules: no choice rules out
// another one.
func TestEveryCombinationIsEmitted(t *testing.T) {
	for seed := range uint64(1500) {
		name, spec, values := combined(t, seed)
		pipeline, err := model.Load("spec.yaml", []byte(spec), values)
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		program, err := lowering.Lower(pipeline, lowering.Options{Verify: true})
		if err != nil {
			t.Errorf("%s %s: %v", name, combination(seed), err)
			continue
		}
		if _, err := emit.Render(program, emit.Options{}); err != nil {
			t.Errorf("%s %s: %v", name, combination(seed), err)
		}
	}
}

// TestCombinations builds and runs a few of them.
func TestCombinations(t *testing.T) {
	for _, seed := range combinations() {
		name, spec, values := combined(t, seed)
		t.Run(fmt.Sprintf("%d/%s/%s", seed, name, combination(seed)), func(t *testing.T) {
			program := exchanges.make(t, spec, values)
			for _, transport := range exchanges.transports() {
				mustPassInOrders(t, program, 4, 4, transport...)
			}
			if len(exchanges.transports()) == 1 {
				return // it does not find out which ranks share memory
			}
			for _, ranks := range []string{"2|3", "1"} {
				mustPassInOrders(t, onRanks(t, program, ranks, "HIRGEN_BOOT_ID=another"), 4, 2)
			}
		})
	}
}

// combinations are those that are built and run: some, one of which once did not compile, or
// all that are claimed.
func combinations() []uint64 {
	if !full {
		return []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 18, 123}
	}
	all := make([]uint64, 300)
	for i := range all {
		all[i] = uint64(i)
	}
	return all
}
