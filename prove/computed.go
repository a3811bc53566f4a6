package prove

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/prove/values"
)

// computed compares the outputs of the program with the model, and reports those that differ. The program must have
// no other error. A mismatch at small extents may come from a constant in the program that depends on the original
// extents. So computed tries each way to find small extents, and then the original extents, until nothing differs. A
// mismatch in the last comparison is an error. It is Undecided if a later attempt failed and the program has kernels
// or attentions. If no attempt succeeded, that is Undecided, too. computed returns the last compared program, whose
// extents are tried first for other assignments of ranks to nodes; nil if no program could be compared.
func (v *verification) computed(load values.Load, like *values.Sized) *values.Sized {
	small := func(guess values.Guess) func() (*values.Sized, error) {
		return func() (*values.Sized, error) { return values.Small(v.p.Calls, v.nodes, load, guess, like) }
	}
	own := func() (*values.Sized, error) { return values.Own(v.p.Calls, v.nodes, load) }
	var found *values.Sized // the last program that could be compared
	var result *values.Result
	var failure error
	var panicked *Finding // the last panic of a comparison
	attempts := []func() (*values.Sized, error){small(values.Columns), small(values.NoColumns), own}
	for _, extents := range attempts {
		sized, err := extents()
		if err != nil {
			failure = err
			continue
		}
		r, err := values.Check(sized.Program, sized.Model, 1)
		if err != nil {
			failure = err
			if internal := new(values.InternalError); errors.As(err, &internal) {
				panicked = internalError(Computed, internal, spec(sized.Program, internal.By))
			}
			continue
		}
		if found, result, failure = sized, r, nil; len(r.Mismatches) == 0 {
			return sized
		}
	}
	switch {
	case found == nil && panicked != nil:
		v.add(*panicked)
		return nil
	case found == nil:
		v.add(Finding{Check: Computed, Severity: Undecided, Message: "what it computes was not compared with the model: " + failure.Error()})
		return nil
	}
	severity := Error
	if failure != nil && len(v.p.Calls.Kernels)+len(v.p.Calls.Attentions) > 0 {
		severity = Undecided // constants in kernels and attentions may be wrong at other extents
	}
	said := map[string]bool{}
	for _, m := range result.Mismatches {
		if !said[m.Output] {
			said[m.Output] = true
			v.add(mismatch(found, m, severity))
		}
	}
	return found
}

// mismatch describes wrong values of an output on a rank.
func mismatch(sized *values.Sized, m values.Mismatch, severity Severity) Finding {
	f := Finding{Check: Computed, Severity: severity}
	by := "which nothing writes"
	if m.By >= 0 {
		s := sized.Program.Stmts[m.By]
		at := Place{Rank: m.Rank, Call: 1, Spec: spec(sized.Program, m.By), Operation: strings.TrimSpace(calls.Op(s) + " " + s.Meta().Label)}
		by, f.At = "which "+at.Operation+" writes", []Place{at}
	}
	f.Message = fmt.Sprintf("%d of %d elements of %s on rank %d are not what the model says: the first is number %d, %s",
		m.Wrong, m.Elements, m.Output, m.Rank, m.First, by)
	if len(sized.Changed) > 0 {
		f.Message += fmt.Sprintf(" (with %s)", strings.Join(sized.Changed, ", "))
	}
	return f
}

// recordCheck records that a check ran.
func (r *Report) recordCheck(c Check) {
	if !r.looked(c) {
		r.Checked = append(r.Checked, c)
	}
}

// looked reports whether a check ran.
func (r *Report) looked(c Check) bool { return slices.Contains(r.Checked, c) }
