package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/tools/bench"
	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
)

// tuneFlags has the flags of tune.
type tuneFlags struct {
	specFlags
	options    bench.Options
	device     string
	candidates int
	sizes, out string
}

func newTune() *cobra.Command {
	var flags tuneFlags
	cmd := &cobra.Command{
		Use:   "tune SPEC [-n RANKS] [-o FILE]",
		Short: "Find the fastest schedule of a spec on this machine",
		Long: `Find the schedule with which a spec runs fastest here. hirgen predicts every schedule that the spec accepts, builds the
best of them and the one that schedule: auto chooses, and times them in turns; the slower half drops out after every two
rounds. The winner and auto are then built and timed again at three sizes.

It prints the times, and how much faster the winner is, or that the difference is within the noise. -o writes the winner to
FILE, which other commands take by --schedule-file.`,
		Example: `  hirgen tune testdata/specs/ag_matmul/spec.yaml -n 2 -o schedule.yaml
  hirgen emit testdata/specs/ag_matmul/spec.yaml --schedule-file schedule.yaml -o out`,
		Args:              exactly("SPEC"),
		ValidArgsFunction: completeSpec,
		RunE:              func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args[0]) },
	}
	f, o := cmd.Flags(), &flags.options
	f.StringArrayVarP(&flags.params, "param", "p", nil, "set a parameter of the spec, `NAME=VALUE`; repeatable")
	f.StringVar(&flags.machine, "machine", schedules.MeasuredMachine, "search by the model of `MACHINE`")
	f.IntVarP(&o.Ranks, "ranks", "n", 0, "set the mesh of the spec to so many ranks; 0 leaves it")
	f.StringVar(&flags.device, "device", string(launch.Auto), "cpu, cuda, or auto: cuda where there is a GPU and nvcc")
	f.IntVar(&flags.candidates, "candidates", 8, "schedules that are built and timed, in addition to auto")
	f.StringVar(&flags.sizes, "sizes", "", "time winner and auto again at `NAME=V1,V2,...`; left out, at half, just and twice the rows")
	f.IntVar(&o.Repeats, "repeats", 3, "repeats of a round")
	f.IntVar(&o.Iters, "iters", 0, "calls of a repeat, back to back; 0: as many as should take 20 ms")
	f.StringVar(&o.Work, "work", filepath.Join("build", "hirgen-tune"), "`FOLDER` for the programs")
	f.StringVarP(&flags.out, "output", "o", "", "write the winner to `FILE`")
	return cmd
}

// run predicts the candidates, times the best of them, and times the winner and auto again.
func (f *tuneFlags) run(cmd *cobra.Command, spec string) error {
	params, err := f.validate()
	if err != nil {
		return err
	}
	pipeline, params, err := bench.Load(spec, params, f.options.Ranks)
	if err != nil {
		text, _ := os.ReadFile(spec)
		return (&source{path: spec, text: text}).locate(err)
	}
	sizes := bench.Sizes(pipeline)
	if f.sizes != "" {
		if sizes, err = bench.ParseSweep(f.sizes); err != nil {
			return usagef("--sizes %v", err)
		}
	}
	machine := f.options.Machine
	if machine == nil {
		if machine, err = cost.LoadMachine(schedules.MeasuredMachine); err != nil {
			return err
		}
	}
	w := cmd.OutOrStdout()
	found := bench.Candidates(spec, params, pipeline.Meshes[0].Size(), machine)
	fmt.Fprintf(w, "%d schedules are predicted to differ; the fastest %d are timed\n", len(found), min(f.candidates, len(found)))
	f.options.Progress = progress(cmd.ErrOrStderr())
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	tuned, err := bench.Tune(ctx, spec, params, found[:min(f.candidates, len(found))], f.options)
	if tuned != nil {
		printRace(w, tuned)
	}
	if err != nil {
		return err
	}
	again, err := f.again(ctx, spec, params, sizes, tuned.Winner)
	if err != nil {
		return err
	}
	verdicts := compareAgain(again)
	for _, line := range verdicts {
		fmt.Fprintln(w, line)
	}
	if f.out == "" {
		return nil
	}
	if err := f.write(spec, tuned, verdicts); err != nil {
		return err
	}
	wroteTo(cmd.ErrOrStderr(), f.out, "hirgen emit "+spec+" --schedule-file "+f.out+" -o out")
	return nil
}

// validate checks the flags, completes the options, and returns the parameters of -p.
func (f *tuneFlags) validate() (map[string]int64, error) {
	params, err := parseParams(f.params)
	if err != nil {
		return nil, err
	}
	device, err := launch.ParseDevice(f.device)
	o := &f.options
	switch {
	case err != nil:
		return nil, usagef("--device: %v", err)
	case o.Ranks < 0 || o.Iters < 0:
		return nil, usagef("-n and --iters are not negative")
	case o.Repeats < 1 || f.candidates < 1:
		return nil, usagef("--repeats and --candidates are at least 1")
	}
	o.Device, o.Version, o.Rounds, o.Together = device.Resolve(), programVersion(), 5, 2
	if f.machine != schedules.MeasuredMachine {
		o.Machine, err = loadMachine(f.machine)
	}
	return params, err
}

// again times the winner and auto at several sizes, in new programs.
func (f *tuneFlags) again(ctx context.Context, spec string, params map[string]int64, sizes bench.Sweep,
	winner bench.Candidate) (*bench.Result, error) {
	cases, err := bench.Rivals(spec, params, sizes, winner)
	if err != nil {
		return nil, usagef("%v", err)
	}
	result, o := &bench.Result{}, f.options
	o.Ranks = 0 // params set the ranks
	o.Done = func(row bench.Row) error {
		result.Rows = append(result.Rows, row)
		return nil
	}
	return result, bench.Run(ctx, cases, o)
}

// printRace prints the times of the candidates.
func printRace(w io.Writer, tuned *bench.Tuned) {
	for _, row := range tuned.Rows {
		text := fmt.Sprintf("  %9.1f us  %s", row.Median, row.Label)
		switch {
		case row.Status != bench.OK:
			text = fmt.Sprintf("  %12s  %s: %s", row.Status, row.Label, row.Reason)
		case row.Predicted > 0:
			text += fmt.Sprintf("  (predicted %.1f us, %+.0f %%)", row.Predicted, 100*(row.OfPrediction()-1))
		}
		fmt.Fprintln(w, text)
	}
}

// compareAgain returns a line for each size: the speedup of the winner over auto, or the status of the winner's row
// if the winner or auto was not measured. In result, the row of auto precedes the winner's.
func compareAgain(result *bench.Result) []string {
	var lines []string
	var base bench.Row
	for _, row := range result.Rows {
		switch {
		case row.Baseline:
			base = row
		case row.Status != bench.OK || base.Status != bench.OK:
			lines = append(lines, fmt.Sprintf("%s: %s%s", row.Problem(), row.Status, strings.TrimSuffix(": "+row.Reason, ": ")))
		default:
			gain, beyond := bench.Bought(row, base)
			line := fmt.Sprintf("%s: %.1f us, schedule: auto %.1f us, %.3f times as fast", row.Problem(), row.Median, base.Median, gain)
			if !beyond {
				line += "; not beyond what repeats differ by"
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// write writes the winner's schedule to f.out, with its measurements as comments.
func (f *tuneFlags) write(spec string, tuned *bench.Tuned, verdicts []string) error {
	text, err := model.PrintSchedule(tuned.Winner.Settings)
	if err != nil {
		return err
	}
	row := tuned.Rows[0]
	about := []string{
		fmt.Sprintf("hirgen tune %s, on %s", filepath.Base(spec), cmp.Or(row.Machine, string(f.options.Device))),
		fmt.Sprintf("The fastest of %d, in %d rounds side by side. Then, in another build:", len(tuned.Rows), tuned.Rounds),
	}
	about = append(about, verdicts...)
	return toFile(f.out, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "# %s\n%s", strings.Join(about, "\n# "), text)
		return err
	})
}
