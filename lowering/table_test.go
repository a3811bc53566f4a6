package lowering

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestOrderIsChecked(t *testing.T) {
	passes := slices.Clone(Passes)
	slices.Reverse(passes)
	if err := checkOrder(passes, Order); err == nil || !strings.Contains(err.Error(), "must run before") {
		t.Errorf("a reversed table passes: %v", err)
	}
	if err := checkOrder(append(slices.Clone(Passes), Passes[0]), Order); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a table with a pass twice passes: %v", err)
	}
	if err := checkOrder(Passes, []Constraint{{"nothing", "mark-aliases", "-"}}); err == nil || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("a constraint on no pass passes: %v", err)
	}
}

// TestOrderWithinConstraintsChangesNothing shuffles the table 40 times within its constraints. The results have to be
// those of the model in each order.
func TestOrderWithinConstraintsChangesNothing(t *testing.T) {
	p := variant(agLinear(small(2, 4)), 3, "fused", "after", "before")
	o := lowertest.NewOracle(t, p, 9)
	tried := map[string]bool{}
	for seed := range uint64(40) {
		passes := shuffled(seed)
		if err := checkOrder(passes, Order); err != nil {
			t.Fatal(err)
		}
		program, err := Build(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := Run(program, passes, Options{Verify: true}); err != nil {
			t.Fatalf("%s: %v", names(passes), err)
		}
		if err := o.Check(program, seed); err != nil {
			t.Fatalf("%s: %v", names(passes), err)
		}
		tried[names(passes)] = true
	}
	if len(tried) < 10 {
		t.Errorf("the constraints leave only %d orders", len(tried))
	}
}

// shuffled returns the passes in a random order that the constraints allow.
func shuffled(seed uint64) []Pass {
	random := rand.New(rand.NewPCG(seed, 1))
	left, order := slices.Clone(Passes), []Pass(nil)
	for len(left) > 0 {
		i := random.IntN(len(left))
		blocked := slices.ContainsFunc(Order, func(c Constraint) bool {
			return c.After == left[i].Name && slices.ContainsFunc(left, func(p Pass) bool { return p.Name == c.Before })
		})
		if !blocked {
			order = append(order, left[i])
			left = slices.Delete(left, i, i+1)
		}
	}
	return order
}

func names(passes []Pass) string {
	var list []string
	for _, p := range passes {
		list = append(list, p.Name)
	}
	return strings.Join(list, " ")
}

func TestOptionalPassesChangeNoResult(t *testing.T) {
	for _, form := range forms {
		p := variant(agMatmul(small(4, 3)), 2, form[0], form[1], form[2])
		o := lowertest.NewOracle(t, p, 2)
		for _, pass := range Passes {
			if pass.Required {
				continue
			}
			program, err := Host(p, Options{Disable: []string{pass.Name}, Verify: true})
			if err != nil {
				t.Fatal(err)
			}
			check := o.Orders(program)
			for seed := range uint64(6) {
				if err := check(seed); err != nil {
					t.Errorf("%s without %s: %v", form, pass.Name, err)
				}
			}
		}
	}
}

func TestDisableRefuses(t *testing.T) {
	p := agMatmul(small(2, 2))
	for pass, want := range map[string]string{"lower-streams": "required", "lower-steams": "there is no pass"} {
		if _, err := Host(p, Options{Disable: []string{pass}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("disabling %s: got %v, want an error with %q", pass, err, want)
		}
	}
}

func TestDumpSaysWhatChanged(t *testing.T) {
	changed := map[string]bool{}
	var order []string
	_, err := Host(agMatmul(small(2, 2)), Options{DumpAfter: func(pass, _ string, did bool) {
		changed[pass] = did
		order = append(order, pass)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(order) != len(Passes)+1 || order[0] != "build" {
		t.Errorf("dumped after %v", order)
	}
	if !changed["lower-streams"] || !changed["overlap"] || changed["mark-aliases"] {
		t.Errorf("what changed is wrong: %v", changed)
	}
}

func TestDescribeNamesEveryPassAndReason(t *testing.T) {
	var out strings.Builder
	if err := Describe(&out); err != nil {
		t.Fatal(err)
	}
	for _, p := range Passes {
		if !strings.Contains(out.String(), p.Name) || !strings.Contains(out.String(), p.Why) {
			t.Errorf("pass %s is not described", p.Name)
		}
	}
	for _, c := range Order {
		if !strings.Contains(out.String(), c.Why) {
			t.Errorf("the reason %q is not given", c.Why)
		}
	}
}
