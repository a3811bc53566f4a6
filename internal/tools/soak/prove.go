package soak

import (
	"errors"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/prove"
)

// emitted proves a program and renders its files. If the proof keeps the program from being written, or the prover
// panics, emitted sets the finding and returns an error. Undecided values are no finding.
func (e *examination) emitted(host *hostir.Program) ([]emit.File, error) {
	lowered, err := lowering.Calls(host, lowering.Options{})
	if err != nil {
		return nil, err
	}
	reports, err := prove.Each(lowered.Programs(), func(params map[string]int64) (*model.Pipeline, error) {
		return model.Load("spec.yaml", []byte(e.spec.Text()), params)
	})
	if err != nil {
		return nil, err
	}
	for _, report := range reports {
		if i := slices.IndexFunc(report.Findings, func(f prove.Finding) bool { return f.Internal }); i >= 0 {
			e.outcome.Finding = e.finding(Panics, "%s", report.Findings[i].Message)
			return nil, errors.New("the prover panics")
		}
		if !report.Emits() {
			var found strings.Builder
			report.Text(&found)
			e.outcome.Finding = e.finding(NotProved, "%s", found.String())
			return nil, errors.New("it is not proved")
		}
	}
	return emit.Render(lowered, emit.Options{})
}
