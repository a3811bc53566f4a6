package main

import (
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/internal/launch"
)

// runFlags is the command line of run.
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
		Use:   "run OUT -n RANKS [-- program arguments]",
		Short: "Build an emitted folder if needed and run its ranks on this machine",
		Long: `Build an emitted folder if needed and run one process per rank on this machine. Rank 0's
standard input and output pass as they are; every other line starts with its rank in brackets.
On the first failure the other ranks may say what they were waiting for, and are then ended.
The exit code is the highest of the ranks': 0 success, 1 wrong elements, 2 bad option, 3 the
machine is not as needed, 4 a device call failed, 5 another rank failed, 6 timeout, 7 internal
error, 128 + N killed by signal N. A rank's 5 gives way to the code of the rank that failed.`,
		Example: `  hirgen run out -n 4
  hirgen run out -n 4 --device cpu --seed 7
  hirgen run out -n 8 --device cuda -- --iters 100 --json result.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args = args[:dash]
			}
			return exactly("OUT")(cmd, args)
		},
		RunE: flags.run,
	}
	cmd.Flags().IntVarP(&flags.ranks, "ranks", "n", 0, "number of ranks, the size of the program's mesh")
	cmd.Flags().StringVar(&flags.device, "device", string(launch.Auto), "cpu, cuda, or auto: cuda where there is a GPU and nvcc")
	cmd.Flags().Int64Var(&flags.seed, "seed", 0, "CPU device: pick an order of execution among those that the program allows; 0 is in order")
	cmd.Flags().Float64Var(&flags.timeout, "timeout", 0, "bound of every wait of the program, in seconds; 0 leaves the program's default")
	cmd.Flags().BoolVarP(&flags.verbose, "verbose", "v", false, "show what the build prints")
	_ = cmd.RegisterFlagCompletionFunc("device", cobra.FixedCompletions(
		[]string{string(launch.CPU), string(launch.CUDA), string(launch.Auto)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// run builds and runs; its exit code is the ranks'.
func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	device, err := f.validate()
	if err != nil {
		return err
	}
	build := launch.BuildOptions{Dir: filepath.Clean(args[0]), Device: device}
	if f.verbose {
		build.Verbose = cmd.ErrOrStderr()
	}
	program, err := launch.Build(cmd.Context(), build)
	if err != nil {
		return err
	}
	exit, err := launch.Run(cmd.Context(), launch.Options{
		Program: program,
		N:       f.ranks,
		Seed:    f.seed,
		Timeout: time.Duration(f.timeout * float64(time.Second)),
		Args:    args[1:],
		Stdin:   cmd.InOrStdin(),
		Stdout:  cmd.OutOrStdout(),
		Stderr:  cmd.ErrOrStderr(),
	})
	switch {
	case err != nil:
		return err
	case exit != exitOK:
		return &exitError{code: exit}
	}
	return nil
}

// validate checks the flags against each other and settles the device.
func (f *runFlags) validate() (launch.Device, error) {
	device, err := launch.ParseDevice(f.device)
	switch {
	case err != nil:
		return "", usagef("--device: %v", err)
	case f.ranks == 0:
		return "", usagef("say how many ranks to run, the size of the program's mesh: -n RANKS")
	case f.ranks < 0:
		return "", usagef("-n %d: the number of ranks is at least 1", f.ranks)
	case f.timeout < 0:
		return "", usagef("--timeout %v: a time in seconds is not negative", f.timeout)
	}
	device = device.Resolve()
	if device == launch.CUDA && f.seed != 0 {
		return "", usagef("--seed orders the execution of the CPU device; use it with --device cpu")
	}
	return device, nil
}
