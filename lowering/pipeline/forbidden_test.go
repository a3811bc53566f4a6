package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/lowering/pipeline"
	"github.com/hirgen/hirgen/model/schedule"
)

// TestRefusedLeadsFail is property 2 for leads: every refused lead names an edge, with both ends. If the test forces
// the lead, there is a race or a deadlock, or some order of execution computes a wrong result. The test skips the
// second check if the edge comes from another transfer, because both transfers keep their order on the same stream.
func TestRefusedLeadsFail(t *testing.T) {
	list, err := subjects()
	if err != nil {
		t.Fatal(err)
	}
	refused, failed := 0, 0
	for i, s := range list {
		if !s.accepted() || s.pipeline.Schedule.Get(schedule.Preset) == schedule.Auto {
			continue
		}
		p := *s.pipeline
		p.Schedule.Unset(schedule.Lead)
		p.Schedule.Set(schedule.All, schedule.Lead, []string{schedule.All, "1", "2"}[i%3])
		_, err := lowering.Host(&p, lowering.Options{Verify: true})
		errs, ok := diag.Diagnostics(err)
		if !ok || !strings.Contains(errs.Items[0].Message, "follows") || !strings.HasPrefix(errs.Items[0].Message, "schedule.all.lead") {
			continue
		}
		refused++
		d := errs.Items[0]
		edge := slices.IndexFunc(d.Notes, func(n diag.Note) bool { return strings.HasPrefix(n.Message, "the edge (") && n.Pos.IsValid() })
		if edge < 0 || !d.Pos.IsValid() || d.Hint == "" {
			t.Errorf("the refusal names no edge: %v\n%s", d, s.text)
		}
		program, err := lowering.Build(&p)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(lowering.Passes, func(p lowering.Pass) bool { return p.Name == "overlap" })
		if err := lowering.Run(program, lowering.Passes[:at], lowering.Options{}); err != nil {
			t.Fatal(err)
		}
		forced, err := pipeline.OverlapForced(program)
		if forced == 0 || err != nil {
			continue // the edge comes from another transfer
		}
		failed++
		if h, err := lowertest.NewHappensBefore(nil, program); err != nil || h.Race() != nil {
			continue
		}
		wrong, check := false, lowertest.NewOracle(t, &p, 1).Orders(program)
		for seed := uint64(0); seed < 4 && !wrong; seed++ {
			wrong = check(seed) != nil
		}
		if !wrong {
			t.Errorf("%s\nforced, nothing goes wrong:\n%s", d.Message, s.text)
		}
	}
	if refused < 20 || failed < 10 {
		t.Errorf("%d leads were refused, and %d forced: that tests little", refused, failed)
	}
	t.Logf("%d leads were refused, and %d forced", refused, failed)
}
