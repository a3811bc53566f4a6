package soak

import (
	"errors"
	"strings"

	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/prove"
	"github.com/hirgen/hirgen/model"
)

// prove holds that the calls of a spec that is accepted are proved, as emit does before it writes.
func (e *examination) prove(p *calls.Program) error {
	report, err := prove.Against(p, func(params map[string]int64) (*model.Pipeline, error) {
		return model.Load("spec.yaml", []byte(e.spec.Text()), params)
	})
	if err != nil || report.Emits() {
		return err
	}
	var found strings.Builder
	report.Text(&found)
	e.outcome.Finding = e.finding(NotProved, "%s", found.String())
	return errors.New("it is not proved")
}
