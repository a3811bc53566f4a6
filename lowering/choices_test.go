package lowering

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// transports are the values of via that point-to-point pipelines may have.
var transports = []string{schedule.NCCL, schedule.IPCGet, schedule.IPCPut}

// choose sets schedule fields, written as in the text of a host program: "pipeline p2p, all.via ipc-get". It skips
// empty strings. If the schedule has preset: auto, it first unsets preset and transport, and sets pipeline: p2p.
func choose(s *schedule.Schedule, choices ...string) {
	if s.Get(schedule.Preset) == schedule.Auto { // auto would lower each program with every candidate
		s.Unset(schedule.Preset)
		s.Unset(schedule.Transport)
		s.Set("", schedule.Pipeline, schedule.P2P)
	}
	for choice := range strings.SplitSeq(strings.Join(choices, ", "), ", ") {
		if path, value, ok := strings.Cut(choice, " "); ok {
			of, field := schedule.SplitPath(path)
			s.Set(of, field, value)
		}
	}
}

// fit removes the schedule fields for which the passes up to overlap report errors, so that a test can try the same
// fields on all pipelines. It disables the given passes.
func fit(p *model.Pipeline, without ...string) {
	checked := slices.IndexFunc(Passes, func(pass Pass) bool { return pass.Name == "overlap" })
	for range len(p.Schedule.Choices) {
		program, err := Build(p)
		if err == nil {
			err = Run(program, Passes[:checked+1], Options{Disable: slices.DeleteFunc(slices.Clone(without), func(name string) bool {
				return slices.IndexFunc(Passes, func(pass Pass) bool { return pass.Name == name }) > checked
			})})
		}
		errs, ok := diag.Diagnostics(err)
		if !ok {
			return
		}
		for _, d := range errs.Items {
			path, _, _ := strings.Cut(strings.TrimPrefix(d.Message, "schedule."), ":")
			p.Schedule.Choices = slices.DeleteFunc(slices.Clone(p.Schedule.Choices), func(c schedule.Choice) bool { return c.Path() == path })
		}
	}
}

// gemms returns the schedule field with which a rank's result is computed in n GEMMs on d ranks; n = 0 means one GEMM
// for each shard.
func gemms(n, d int64) string {
	switch {
	case n == 0 || n == d:
		return "all.split 1"
	case n > d:
		return fmt.Sprintf("all.split %d", n/d)
	}
	return fmt.Sprintf("all.block %d", d/n)
}
