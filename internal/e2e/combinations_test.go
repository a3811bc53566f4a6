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
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// scheduleChoices are the fields of a p2p schedule with the values to try on four ranks. An empty value leaves the
// field unset.
var scheduleChoices = []struct {
	field  string
	values []string
}{
	{"transport", []string{"", "", "", "auto"}},
	{"via", []string{"nccl", "ipc-get", "ipc-put"}},
	{"streams", []string{"0", "1", "2", "3"}},
	{"initial_waits", []string{"", "split", "fused"}},
	{"joins", []string{"", "body", "after"}},
	{"local_shard", []string{"", "in-place", "copied"}},
	{"lead", []string{"none", "all", "1", "2"}},
	{"steps", []string{"rotation", "reverse", "pairwise", "ring", "bracket"}},
	{"local", []string{"", "first", "last"}},
	{"split", []string{"", "2", "4"}},
	{"block", []string{"", "", "1", "2", "D"}},
	{"interchange", []string{"", "true"}},
	{"copy", []string{"", "engine", "sm", "fused"}},
	{"signals", []string{"", "single", "batched"}},
	{"delay", []string{"", "0", "3"}},
	{"graph", []string{"false", "true"}},
	{"nodes", []string{"", "", "x"}},
	{"fuse", []string{"", "none", "gemm", "peer-read"}},
}

// exchangeSpecs are the examples to try: seed modulo their number selects one.
var exchangeSpecs = []string{"ag_matmul_p2p", "ag_linear_p2p", "allgather_p2p", "matmul_rs_p2p", "matmul_ar_p2p"}

func exchangeSpec(seed uint64) string { return exchangeSpecs[seed%uint64(len(exchangeSpecs))] }

// combination returns a schedule with a random value for each field. It removes fields that are refused in combination
// with others.
func combination(t *testing.T, seed uint64, spec string, values params) string {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 11))
	fields := []string{"pipeline: p2p"}
	for _, c := range scheduleChoices {
		value := c.values[random.IntN(len(c.values))]
		if c.field == "via" && slices.Contains(fields, "transport: auto") {
			continue // via selects the transport, which transport: auto leaves open
		}
		if value != "" {
			fields = append(fields, c.field+": "+value)
		}
	}
	for {
		errs := refusals(t, withSchedule(spec, scheduleOf(fields...)), values)
		before := len(fields)
		for _, d := range errs {
			path, _, _ := strings.Cut(strings.TrimPrefix(d.Message, "schedule."), ":")
			field := path[strings.LastIndexByte(path, '.')+1:]
			fields = slices.DeleteFunc(fields, func(f string) bool { return strings.HasPrefix(f, field+": ") })
		}
		if len(fields) == before {
			return scheduleOf(fields...)
		}
	}
}

// refusals returns the errors of a spec, or nil if it is accepted or fails without a diagnostic.
func refusals(t *testing.T, spec string, values params) []*diag.Diagnostic {
	t.Helper()
	pipeline, err := model.Load("spec.yaml", []byte(spec), values)
	if err == nil {
		_, err = lowering.Host(pipeline, lowering.Options{})
	}
	errs, ok := diag.Diagnostics(err)
	if !ok {
		return nil
	}
	return errs.Items
}

// withSchedule replaces the schedule of a spec.
func withSchedule(spec, schedule string) string {
	return regexp.MustCompile(`(?m)^schedule: .*\n`).ReplaceAllString(spec, "") + "schedule: " + schedule + "\n"
}

// combined returns an example for four ranks with a random schedule. Its ranks are placed as one element of settings
// says. The seed selects the example, the schedule and the placement.
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
	spec, values = renamed.ReplaceAllString(where.place(string(text), d), "name: exchange"), small(name, d)
	schedule := combination(t, seed, spec, values)
	return name + " in " + where.name + " " + schedule, withSchedule(spec, schedule), values
}

// TestEveryCombinationIsEmitted lowers and renders many combinations: no accepted field may fail with another accepted
// one.
func TestEveryCombinationIsEmitted(t *testing.T) {
	for seed := range uint64(600) {
		name, spec, values := combined(t, seed)
		pipeline, err := model.Load("spec.yaml", []byte(spec), values)
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		program, err := lowering.Lower(pipeline, lowering.Options{Verify: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := emit.Render(program, emit.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCombinations builds and runs a few combinations, or 300 in a full test.
func TestCombinations(t *testing.T) {
	for _, seed := range combinations() {
		name, spec, values := combined(t, seed)
		t.Run(fmt.Sprintf("%d/%s", seed, name), func(t *testing.T) {
			exchanges := exchanges.beside(t)
			program := exchanges.make(t, spec, values)
			for _, transport := range exchanges.transports() {
				mustPassInOrders(t, program, 4, 4, transport...)
			}
			if len(exchanges.transports()) == 1 {
				return // the program does not find out which ranks share memory
			}
			for _, ranks := range []string{"2|3", "1"} {
				mustPassInOrders(t, onRanks(t, program, ranks, "HIRGEN_BOOT_ID=another"), 4, 2)
			}
		})
	}
}

// combinations returns the seeds of the combinations to build and run: a few, or 300 in a full test.
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
