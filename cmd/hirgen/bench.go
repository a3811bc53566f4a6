package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/internal/tools/bench"
	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
)

// benchFlags has the flags of bench.
type benchFlags struct {
	specFlags
	options         bench.Options
	device          string
	sweeps          []string
	lists           []string
	baseline        string
	json, csv, page string
	from            string
	resume          bool
}

func newBench() *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "bench [SPEC]... [-n RANKS] [--sweep FIELD=V1,V2]... [--baseline PRESET] [-- program arguments]",
		Short: "Time specs, parameters and schedules side by side on this machine",
		Long: `Emit, build and time a program for every combination of specs and swept fields. A problem is a spec with its parameters.
All programs of a problem are started and checked. They are then timed in rounds, so that clocks and heat affect all of them alike. The
GEMMs of a problem are timed alone among them.

A swept field is a parameter of the spec, a field of the schedule as in --schedule, or "schedule" with presets. --baseline adds
the spec under a preset, and the others are compared with it.

--cases FILE adds a problem whose programs come from several specs. FILE is a JSON list of {"name", "spec", "params",
"schedule"}, where "schedule" is a list of what --schedule takes. --peers COMMAND times other libraries in the same turns: the
command prints {"peers": ["NAME", ...]}, then answers each line with a name by {"us": [MICROSECONDS, ...]}.

A row of the result is ok, wrong (elements differ), failed, or waived: refused by hirgen, or in need of more GPUs than there
are. The exit code is 1 if a row is wrong or failed, and 3 if nothing was measured.

--from FILE measures nothing. It reads rows that --json wrote, perhaps on another machine, prints the table, and writes --page and --csv.`,
		Example: `  hirgen bench testdata/specs/ag_matmul/spec.yaml -n 2 --sweep S=2,4,8 --baseline eager
  hirgen bench layer.yaml --sweep all.via=nccl,ipc-get --sweep streams=1,2 --json rows.json --page page.html
  hirgen bench layer.yaml --json rows.json --resume
  hirgen bench layer.yaml --peers "python3 peers.py"
  hirgen bench --cases block.json --json rows.json
  hirgen bench --from rows.json --page page.html`,
		RunE: func(cmd *cobra.Command, args []string) error {
			specs := args
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				specs, flags.options.Arguments = args[:dash], args[dash:]
			}
			if flags.from != "" {
				return flags.show(cmd, args)
			}
			if len(specs) == 0 && len(flags.lists) == 0 {
				return usagef("name a SPEC, or a file with --cases")
			}
			return flags.run(cmd, specs)
		},
	}
	flags.registerSpec(cmd)
	f, o := cmd.Flags(), &flags.options
	f.StringVar(&flags.machine, "machine", schedules.MeasuredMachine, "predict for `MACHINE`, and choose for it with schedule: auto")
	f.IntVarP(&o.Ranks, "ranks", "n", 0, "set the mesh of every spec to so many ranks; 0 leaves it")
	f.StringVar(&flags.device, "device", string(launch.Auto), "cpu, cuda, or auto: cuda where there is a GPU and nvcc")
	f.StringArrayVar(&flags.sweeps, "sweep", nil, "measure `FIELD=V1,V2,...`, each value; repeatable, for all combinations")
	f.StringArrayVar(&flags.lists, "cases", nil, "measure the programs that `FILE` lists, as one problem; repeatable")
	f.StringVar(&o.Peers, "peers", "", "time the peers of `COMMAND` in the same rounds as the programs of each problem")
	f.StringVar(&flags.baseline, "baseline", "", "compare with the spec under `PRESET`")
	f.IntVar(&o.Rounds, "rounds", 5, "rounds, each of which times every program of a problem")
	f.IntVar(&o.Repeats, "repeats", 3, "repeats of a round")
	f.IntVar(&o.Iters, "iters", 0, "calls of a repeat, back to back; 0: as many as should take 20 ms")
	f.IntVar(&o.Together, "together", 8, "programs that are ready at the same time, at most")
	f.IntVar(&o.Starting, "starting", 0, "programs that start, and check themselves, at the same time, at most; 0: all that are ready "+
		"together")
	f.IntVar(&o.Jobs, "jobs", runtime.NumCPU(), "programs that are built at the same time")
	f.Float64Var(&o.Near, "near", 0, "leave programs that take so many times as long as the fastest one out of further rounds; 0: none")
	f.StringArrayVar(&o.CMake, "cmake", nil, "set `NAME=VALUE` in CMake's cache; repeatable")
	f.BoolVar(&o.NoGEMMs, "no-gemms", false, "do not time the GEMMs alone")
	f.StringVar(&o.Work, "work", filepath.Join("build", "hirgen-bench"), "`FOLDER` for the programs")
	f.StringVar(&flags.json, "json", "", "write all rows to `FILE`, after each problem")
	f.StringVar(&flags.csv, "csv", "", "write a line for each row to `FILE`")
	f.StringVar(&flags.page, "page", "", "write a page with charts to `FILE`")
	f.StringVar(&flags.from, "from", "", "measure nothing; print, and draw, the rows that --json wrote to `FILE`")
	f.BoolVar(&flags.resume, "resume", false, "keep rows of the --json file whose program is the same, and measure the others")
	completeDevices(cmd)
	return cmd
}

// run measures the cases of some specs and of --cases, and reports the rows.
func (f *benchFlags) run(cmd *cobra.Command, specs []string) error {
	if err := f.validate(); err != nil {
		return err
	}
	cases, err := f.cases(specs)
	if err != nil {
		return err
	}
	if f.resume {
		old, err := readRows("--json", f.json)
		if errors.Is(err, fs.ErrNotExist) {
			old, err = &bench.Result{}, nil
		}
		if err != nil {
			return err
		}
		f.options.Kept, f.options.KeptPeers = old.Kept, old.KeptPeers
	}
	result := &bench.Result{}
	f.options.Done = func(row bench.Row) error {
		result.Rows = append(result.Rows, row)
		if f.json == "" {
			return nil
		}
		return result.Save(f.json)
	}
	f.options.Progress = progress(cmd.ErrOrStderr())
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	if err := bench.Run(ctx, cases, f.options); err != nil {
		return err
	}
	return f.report(cmd.OutOrStdout(), result)
}

// validate checks the flags and chooses the device and the machine.
func (f *benchFlags) validate() error {
	o := &f.options
	device, err := launch.ParseDevice(f.device)
	switch {
	case err != nil:
		return usagef("--device: %v", err)
	case o.Ranks < 0 || o.Iters < 0:
		return usagef("-n and --iters are not negative")
	case o.Rounds < 1 || o.Repeats < 1 || o.Together < 1:
		return usagef("--rounds, --repeats and --together are at least 1")
	case o.Starting < 0 || o.Jobs < 1 || o.Near != 0 && o.Near < 1:
		return usagef("--starting is not negative, --jobs is at least 1, and --near is 0 or at least 1")
	case f.resume && f.json == "":
		return usagef("--resume goes on with the rows of --json FILE")
	}
	o.Device, o.Version = device.Resolve(), programVersion()
	if f.machine != schedules.MeasuredMachine {
		o.Machine, err = loadMachine(f.machine)
	}
	return err
}

// cases returns all combinations, spec by spec, and then the programs of --cases. A spec that is wrong with its own
// parameters ends the command. A wrong combination becomes a row.
func (f *benchFlags) cases(specs []string) ([]bench.Case, error) {
	params, settings, err := parseSettings(f.params, f.schedule)
	if err != nil {
		return nil, err
	}
	var sweeps []bench.Sweep
	for _, text := range f.sweeps {
		s, err := bench.ParseSweep(text)
		if err != nil {
			return nil, usagef("--sweep %v", err)
		}
		sweeps = append(sweeps, s)
	}
	var all []bench.Case
	for _, spec := range specs {
		var names []string
		p, text, err := model.LoadFile(spec, nil)
		if err != nil {
			return nil, (&source{path: spec, text: text}).locate(err)
		}
		for _, param := range p.Params {
			names = append(names, param.Name)
		}
		list, err := bench.Cases(spec, names, params, settings, sweeps, f.baseline)
		if err != nil {
			return nil, usagef("--sweep %v", err)
		}
		all = append(all, list...)
	}
	for _, path := range f.lists {
		list, err := readCases(path)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(c bench.Case) bool { return c.Group == list[0].Group }) {
			return nil, usagef("--cases %s: another file has this name, and a problem its file's", path)
		}
		all = append(all, list...)
	}
	return all, nil
}

// report prints and writes the rows. Then it returns an error with exit code 1 if a row is wrong or failed, or with
// exit code 3 if nothing was measured.
func (f *benchFlags) report(w io.Writer, result *bench.Result) error {
	if err := f.write(w, result); err != nil {
		return err
	}
	measured := false
	for _, row := range result.Rows {
		switch row.Status {
		case bench.Wrong, bench.Failed:
			return &exitError{code: exitSpec}
		case bench.OK:
			measured = true
		case bench.Waived:
		}
	}
	if !measured {
		fmt.Fprintln(w, "nothing was measured")
		return &exitError{code: exitEnvironment}
	}
	return nil
}
