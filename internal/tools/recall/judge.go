package recall

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/interp"
)

// Effect is the effect of a mistake that the oracle observes.
type Effect string

// The effects.
const (
	None  Effect = "no effect" // under the seeds that were tried
	Wrong Effect = "wrong"     // elements of results are wrong
	Hangs Effect = "hangs"
	// HangsSerialized: hangs if the communications of a GPU run one after the other in issue order.
	HangsSerialized Effect = "hangs, serialized"
	// Invalid: the interpreter reports an error other than a deadlock, or it panics. Such errors are a wait for an event
	// that was not recorded, or memory that is never freed. It panics, for example, at an access out of bounds.
	Invalid Effect = "invalid"
)

// Judge runs a program under several seeds until one shows an effect. If none does, it runs the program once more, with
// the communications of each GPU one after the other. why describes the effect.
func (s *Subject) Judge(p *calls.Program, seeds uint64) (effect Effect, why string) {
	for seed := range seeds {
		if effect, why = s.run(p, interp.Run, seed); effect != None {
			return effect, why
		}
	}
	if effect, why = s.run(p, interp.RunSerialized, 0); effect == Hangs {
		effect = HangsSerialized
	}
	return effect, why
}

// interpreter is the type of interp.Run and interp.RunSerialized.
type interpreter func(p *calls.Program, nodes []int, inputs []map[string]*interp.Array, seed uint64) ([]map[string]*interp.Array, error)

func (s *Subject) run(p *calls.Program, interpreted interpreter, seed uint64) (effect Effect, why string) {
	defer func() {
		if failure := recover(); failure != nil { // the interpreter panicked, for example at an access out of bounds
			effect, why = Invalid, fmt.Sprint(failure)
		}
	}()
	got, err := interpreted(p, s.Nodes, s.oracle.Inputs, seed)
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "deadlock"):
		return Hangs, err.Error()
	case err != nil:
		return Invalid, err.Error()
	}
	if err := s.oracle.Compare(got, seed); err != nil {
		return Wrong, err.Error()
	}
	return None, ""
}
