package recall

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/verify"
	"github.com/hirgen/hirgen/prove"
	"github.com/hirgen/hirgen/prove/unroll"
	"github.com/hirgen/hirgen/prove/values"
)

// BetweenPasses runs only the verifier of the call IR (calls/verify), which emit runs before it prints a program.
func BetweenPasses(_ *Subject, p *calls.Program) error { return verify.Program(p) }

// Prove runs all checks of hirgen verify that need only the calls, such as the checks of memory, flags, NCCL calls,
// deadlocks and races. It does not check values. It returns the first finding that is not a warning.
func Prove(_ *Subject, p *calls.Program) error {
	report, err := prove.Program(p)
	if err != nil {
		return err
	}
	for _, f := range report.Findings {
		if f.Severity != prove.Warning {
			return fmt.Errorf("%s: %s", f.Check, f.Message)
		}
	}
	return nil
}

// Values checks that every output is the function of the inputs that the model defines.
func Values(s *Subject, p *calls.Program) error {
	u, err := unroll.Unroll(p, s.Nodes)
	if err != nil {
		return err
	}
	r, err := values.Check(u, s.Pipeline, 1)
	if err != nil {
		return err
	}
	if len(r.Mismatches) > 0 {
		first := r.Mismatches[0]
		return fmt.Errorf("on rank %d, %d of %d elements of %s are wrong", first.Rank, first.Wrong, first.Elements, first.Output)
	}
	return nil
}

// All returns a checker that runs the checkers of the list, one after the other, until one finds something.
func All(list ...Checker) Checker {
	return func(s *Subject, p *calls.Program) error {
		for _, c := range list {
			if err := c(s, p); err != nil {
				return err
			}
		}
		return nil
	}
}
