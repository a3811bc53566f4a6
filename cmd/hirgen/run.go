package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/tools/launch"
)

// runFlags has the flags of run.
type runFlags struct {
	ranks   int
	device  string
	seed    int64
	timeout float64
	verbose bool
}

func newRun() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run OUT [-n RANKS] [-- program arguments] | run -n RANKS -- COMMAND [arguments]",
		Short: "Build and run an emitted program on this machine, or start any command on several ranks",
		Long: `Run an emitted folder on this machine with one process per rank. It is built first if needed. Without -n there are as
many ranks as the program was emitted for.

The build takes the compiled runtime from $HIRGEN_CACHE, $XDG_CACHE_HOME/hirgen or ~/.cache/hirgen, or leaves it there for other
programs ("hirgen cache"); with HIRGEN_CACHE=off it stays in the folder. Progress goes to standard error.

Or run any command, such as a client of the program's library: put it after "--" and leave out the folder. Each process finds
its rank, the number of ranks and the address where they meet in HIRGEN_RANK, HIRGEN_WORLD, HIRGEN_LOCAL_RANK, HIRGEN_ADDR,
HIRGEN_PORT and HIRGEN_JOB_SECRET. The library reads these by itself.

Standard input and output of rank 0 are passed through; every other line starts with its rank in brackets. When a rank fails,
the others may report what they were waiting for, and are then ended.

The exit code is the highest one of the ranks: 0 success, 1 wrong elements, 2 bad option, 3 the machine is not as needed, 4 a
device call failed, 5 another rank failed, 6 timeout, 7 internal error, 128 + N killed by signal N. The code of the rank that
failed is used in place of 5.`,
		Example: `  hirgen run out
  hirgen run out --device cpu --seed 7
  hirgen run out --device cuda -- --iters 100 --json result.json
  hirgen run -n 4 -- ./my_client weights.bin`,
		Args: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			switch {
			case dash < 0:
				return exactly("OUT")(cmd, args)
			case dash == 0 && len(args) == 0:
				return errors.New("missing command after --")
			case dash == 0:
				return nil
			}
			return exactly("OUT")(cmd, args[:dash])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := launch.Supported(runtime.GOOS); err != nil {
				return err
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			cmd.SetContext(ctx)
			if cmd.ArgsLenAtDash() == 0 {
				return flags.runCommand(cmd, args)
			}
			return flags.runFolder(cmd, args)
		},
	}
	cmd.Flags().IntVarP(&flags.ranks, "ranks", "n", 0, "number of ranks; left out, the size of the program's mesh")
	cmd.Flags().StringVar(&flags.device, "device", string(launch.Auto), "cpu, cuda, or auto: cuda where there is a GPU and nvcc")
	cmd.Flags().Int64Var(&flags.seed, "seed", 0, "CPU device: pick an order of execution among those that the program allows; 0 is in order")
	cmd.Flags().Float64Var(&flags.timeout, "timeout", 0, "bound of every wait of the program, in seconds; 0 leaves the program's default")
	cmd.Flags().BoolVarP(&flags.verbose, "verbose", "v", false, "show what the build prints")
	completeDevices(cmd)
	return cmd
}

// completeDevices completes the values of --device.
func completeDevices(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("device", cobra.FixedCompletions(
		[]string{string(launch.CPU), string(launch.CUDA), string(launch.Auto)}, cobra.ShellCompDirectiveNoFileComp))
}

// runFolder builds a folder's program and runs it.
func (f *runFlags) runFolder(cmd *cobra.Command, args []string) error {
	device, err := f.validate(cmd)
	if err != nil {
		return err
	}
	if device == launch.CUDA && f.seed != 0 {
		return usagef("--seed orders the execution of the CPU device; use it with --device cpu")
	}
	dir := filepath.Clean(args[0])
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return usagef("%s is no folder; to run a command: hirgen run -n RANKS -- %s", dir, dir)
	}
	ranks, err := f.ranksOf(cmd, dir)
	if err == nil {
		err = emit.CheckPath(dir)
	}
	if err != nil {
		return err
	}
	build := launch.BuildOptions{Dir: dir, Device: device, Progress: progress(cmd.ErrOrStderr())}
	if f.verbose {
		build.Verbose = cmd.ErrOrStderr()
	}
	program, err := launch.Build(cmd.Context(), build)
	if err != nil {
		return err
	}
	return f.launch(cmd, launch.Options{Program: program, N: ranks, Args: args[1:]})
}

// runCommand runs a command in one process for each rank.
func (f *runFlags) runCommand(cmd *cobra.Command, args []string) error {
	for _, name := range []string{"device", "timeout", "verbose"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s is for emitted folders, and %s is a command; give such options to it itself", name, args[0])
		}
	}
	if _, err := f.validate(cmd); err != nil {
		return err
	}
	if f.ranks == 0 {
		return usagef("say how many ranks to run: hirgen run -n RANKS -- %s", args[0])
	}
	program, err := launch.FindCommand(args[0])
	if err != nil {
		return err
	}
	return f.launch(cmd, launch.Options{Program: program, Foreign: true, N: f.ranks, Args: args[1:]})
}

// launch runs the ranks. If their exit code is not 0, it returns an exitError with that code.
func (f *runFlags) launch(cmd *cobra.Command, options launch.Options) error {
	options.Seed, options.Timeout = f.seed, time.Duration(f.timeout*float64(time.Second))
	options.Stdin, options.Stdout, options.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	exit, err := launch.Run(cmd.Context(), options)
	switch {
	case err != nil:
		return err
	case exit != exitOK:
		return &exitError{code: exit}
	}
	return nil
}

// validate checks the flags, and resolves the device.
func (f *runFlags) validate(cmd *cobra.Command) (launch.Device, error) {
	device, err := launch.ParseDevice(f.device)
	switch {
	case err != nil:
		return "", usagef("--device: %v", err)
	case cmd.Flags().Changed("ranks") && f.ranks <= 0:
		return "", usagef("-n %d: the number of ranks is at least 1", f.ranks)
	case f.timeout < 0:
		return "", usagef("--timeout %v: a time in seconds is not negative", f.timeout)
	}
	return device.Resolve(), nil
}

// ranksOf returns -n or, without it, the number of ranks in a folder's manifest, or else in its spec.
func (f *runFlags) ranksOf(cmd *cobra.Command, dir string) (int, error) {
	if f.ranks > 0 {
		return f.ranks, nil
	}
	record, err := emit.ReadRecord(dir)
	if err != nil {
		return 0, err
	}
	if record.Ranks > 0 {
		return record.Ranks, nil
	}
	return ranksOfSpec(cmd, dir, record)
}

// ranksOfSpec returns the number of ranks of the spec in a folder.
func ranksOfSpec(cmd *cobra.Command, dir string, record *emit.Record) (int, error) {
	path := filepath.Join(dir, emit.SpecFolder, record.Spec)
	if _, err := os.Stat(path); err != nil {
		return 0, usagef("%s does not say for how many ranks its program is: -n RANKS", dir)
	}
	own, err := readSettings(record.Flags)
	if err != nil {
		return 0, err
	}
	pipeline, _, err := own.load(cmd, path)
	if err != nil {
		return 0, err
	}
	return pipeline.Meshes[0].Size(), nil
}
