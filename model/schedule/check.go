package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
)

// Check adds to list the errors of a schedule that do not depend on the operations of the pipeline: values that need
// another preset, another kind of pipeline or more worker streams.
func Check(s *Schedule, list *diag.List) {
	for _, c := range s.Choices {
		f, ok := Named(c.Field)
		if !ok {
			continue
		}
		if p := s.check(f, c); p != nil {
			_ = Complain(list, c, p)
		}
	}
}

// Complain adds a problem with a choice to list, at the position of the choice, and returns the diagnostic.
func Complain(list *diag.List, c Choice, p *Problem) *diag.Diagnostic {
	return list.Add(c.Pos, diag.BadSchedule, "schedule.%s: %s", c.Path(), p.Why).WithHint("%s", p.Hint)
}

func (s *Schedule) check(f Field, c Choice) *Problem {
	v := f.value(c.Value)
	preset, pipeline := s.Get(Preset), s.Get(Pipeline)
	_, chosen := s.Given("", Pipeline)
	switch why := f.Reference + v.Reference; {
	case why != "" && preset != Reference:
		what := f.Name
		if f.Reference == "" {
			what = c.Value
		}
		return problem("say preset: reference, too; or leave it out", "%s goes with preset: reference alone: %s", what, why)
	case s.Whole() && (f.Scope == Communication || f.Name == Pipeline || len(f.Pipelines) > 0):
		return problem("leave it out, or choose another preset", "preset: %s has no pipeline: whole collectives go over NCCL", preset)
	case preset == None && f.Name == Streams:
		return problem("say preset: eager, or leave it out", "preset: none puts all on the caller's stream")
	case preset == Auto && !chosen:
		return nil // the kind of pipeline is still open
	case f.Pipelines != nil && !slices.Contains(f.Pipelines, pipeline):
		return problem("choose pipeline: "+strings.Join(f.Pipelines, " or ")+", or leave it out",
			"it is for pipeline: %s, and this one is %s", strings.Join(f.Pipelines, " or "), pipeline)
	}
	return s.checkStreams(f)
}

// checkStreams returns a problem if the schedule has fewer worker streams than a field needs, and otherwise nil.
func (s *Schedule) checkStreams(f Field) *Problem {
	needs := map[string]int64{InitialWaits: 1, Joins: 1, Delay: 2}[f.Name]
	if have := Number(s.Get(Streams)); have < needs {
		return problem(fmt.Sprintf("choose streams: %d or more, or leave it out", needs), "it needs %d worker streams or more, and streams is %d",
			needs, have)
	}
	return nil
}
