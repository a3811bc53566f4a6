package main

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// streams is the standard input and outputs of one invocation.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// output keeps the first error of a write, because commands print without checking errors.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(text []byte) (int, error) {
	n, err := o.Writer.Write(text)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, s streams) (exit int) {
	defer func() {
		if failure := recover(); failure != nil {
			exit = reportPanic(s.err, failure)
		}
	}()
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(s.in)
	out := &output{Writer: s.out}
	root.SetOut(out)
	root.SetErr(s.err)
	entered := false
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		err := cmd.ValidateFlagGroups() // cobra checks them after this function
		entered = err == nil
		return err
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !entered {
		// The command line was refused before a command ran.
		err = &usageError{message: err.Error()}
	}
	if exit = report(s.err, cmd, err); exit == exitOK && out.err != nil {
		return report(s.err, cmd, &launch.EnvironmentError{Message: "standard output: " + out.err.Error(), Err: out.err})
	}
	return exit
}

// newRoot returns the command hirgen with all its commands.
func newRoot() *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:   "hirgen",
		Short: "Turn the description of a multi-GPU pipeline into a standalone CUDA C++ program",
		Long: `hirgen turns the description of a multi-GPU pipeline into a standalone CUDA C++
program that overlaps communication with matrix products. The program builds with
CMake alone, for GPUs or, unchanged, for any Linux machine with a C++ compiler.

Exit codes: 0 success, 1 the spec is wrong (or --check found stale files), 2 bad
command line, 3 the machine is not as needed, 4 internal error, 8 not proved, 9 files
of a program were edited. hirgen run also returns the exit codes of the ranks.`,
		Example: `  hirgen new my.yaml --layer ag_matmul
  hirgen check my.yaml
  hirgen emit my.yaml -o out
  hirgen run out`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          suggest,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return printVersion(cmd)
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&showVersion, "version", false, "print the versions of hirgen, of specs and of the C ABI")
	root.AddCommand(newNew(), newEmit(), newLower(), newCheck(), newVerify(), newBench(), newTune(), newSimulate(), newTimeline(),
		newExportGo(), newGrad(), newRun(), newFmt(), newCache(), newDoctor(),
		newOps(), newSchedule(), newSchema(), newPasses(), newExplain(), newMan(), newVersion())
	group(root)
	root.SetFlagErrorFunc(suggestFlag)
	beStrict(root)
	return root
}

// exactly accepts one argument for each name. Its error names the first missing or unexpected argument.
func exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return errors.New("missing argument " + names[len(args)])
		case len(args) > len(names):
			return errors.New("unexpected argument " + args[len(names)])
		}
		return nil
	}
}
