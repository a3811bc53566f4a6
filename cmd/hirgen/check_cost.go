package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/cost"
)

// costFlags has the flag of a prediction.
type costFlags struct{ trace string }

func (f *costFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.trace, "trace", "", "write the predicted timeline to `FILE`, for ui.perfetto.dev")
}

// loadMachine returns the machine that --machine names.
func loadMachine(name string) (*cost.Machine, error) {
	m, err := cost.LoadMachine(name)
	if err != nil && !isEnvironment(err) {
		return nil, usagef("--machine %v", err)
	}
	return m, err
}

// predict returns the prediction for a program on a machine, and writes its timeline if --trace is given. The
// prediction is nil for a program with too many calls.
func (f *costFlags) predict(p *calls.Described, on string) (*cost.Prediction, error) {
	machine, err := loadMachine(on)
	if err != nil {
		return nil, err
	}
	r, err := cost.Predict(p.Programs(), machine)
	if reach := (*cost.ReachError)(nil); errors.As(err, &reach) {
		return nil, usagef("--machine %s: %v", on, err)
	}
	if err != nil || r == nil {
		return r, err
	}
	return r, f.writeTrace(r)
}

func (f *costFlags) writeTrace(r *cost.Prediction) error {
	if f.trace == "" {
		return nil
	}
	return toFile(f.trace, r.WriteTrace)
}

// mostNamed is the most computations that are named as hiding a communication, and the most calls that are named on the
// critical path.
const mostNamed = 3

// describePrediction prints the expected time of a call, the computations that hide each communication, and the critical
// path.
func describePrediction(text *strings.Builder, r *cost.Prediction) {
	if r == nil {
		fmt.Fprintf(text, "  no prediction: a call of the program makes more than %d calls\n", cost.MaxCalls)
		return
	}
	fmt.Fprintf(text, "  predicted on %s: %s a call, of which %s communicate and compute nothing; the host takes %s to issue it\n",
		r.Machine.Name, duration(r.Total), duration(r.Exposed), duration(r.Host))
	for _, e := range r.Communications {
		fmt.Fprintf(text, "    %s %s: %d x, %s in all, %s exposed%s\n", e.Pos, e.Name, e.Times, duration(e.Total), duration(e.Exposed),
			hiddenBehind(e))
	}
	fmt.Fprintf(text, "    critical path: %s\n", shares(r.Path()))
}

// hiddenBehind names the computations that hide a communication. It is empty if there are none.
func hiddenBehind(e cost.Exposure) string {
	if len(e.Behind) == 0 {
		return ""
	}
	return ", " + duration(e.Hidden) + " hidden behind " + shares(e.Behind)
}

// shares lists at most mostNamed calls with their times, and "..." for the others.
func shares(list []cost.Share) string {
	var words []string
	for i, s := range list {
		if i == mostNamed {
			words = append(words, "...")
			break
		}
		words = append(words, fmt.Sprintf("%s (%s)", s.Name, duration(s.Time)))
	}
	return strings.Join(words, ", ")
}

// duration prints microseconds as us or ms, with at most two decimals.
func duration(us float64) string {
	switch {
	case us >= 1000:
		return fmt.Sprintf("%.2f ms", us/1000)
	case us >= 100:
		return fmt.Sprintf("%.0f us", us)
	}
	return fmt.Sprintf("%.1f us", us)
}
