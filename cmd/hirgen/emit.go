package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/prove"
	"github.com/hirgen/hirgen/prove/values"
)

func newEmit() *cobra.Command {
	var (
		flags        specFlags
		packages     packageFlags
		out          string
		force, check bool
		noVerify     bool
	)
	cmd := &cobra.Command{
		Use:   "emit SPEC -o OUT",
		Short: "Write the CMake project of a spec's program",
		Long: `Write the program of a spec as a CMake project that builds alone: "cmake --preset cuda" for GPUs, or
"cmake --preset cpu" for this machine's processors.

OUT is a new or empty folder, or one that hirgen wrote for the same program. Only files that changed are written. hirgen
refuses a folder that holds anything else, and files that it did not write or that were edited since; --force overwrites
them. The root folder, system folders, your home folder and paths that CMake cannot handle are always refused. An
interrupted emit is undone by the next one, and two at the same time wait for each other. SPEC may be - for standard
input, or a pipe.

--go adds a Go package, a module of its own, that calls the program's library. --python makes the folder a package for
PyTorch too: "pip install OUT" builds it.

The program is proved first, as hirgen verify does, for the number of ranks in the spec. If the proof fails, hirgen writes no file and the exit code is 8. --no-verify skips the proof.`,
		Example: `  hirgen emit testdata/specs/ag_matmul/spec.yaml -o out
  hirgen emit testdata/specs/ag_matmul/spec.yaml -o out -p M=16384 -p S=8
  hirgen emit testdata/specs/ag_matmul/spec.yaml -o out --check
  hirgen emit testdata/specs/ag_matmul/spec.yaml -o out --go
  hirgen emit testdata/specs/ag_matmul/spec.yaml -o out --python`,
		Args:              exactly("SPEC"),
		ValidArgsFunction: completeSpec,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case out == "":
				return usagef("say where to write: -o OUT")
			case force && check:
				return usagef("--check writes nothing, so --force has no meaning beside it")
			}
			if err := packages.check(); err != nil {
				return err
			}
			program, lowered, src, options, err := flags.emitted(cmd, args[0], !noVerify)
			if err != nil {
				return err
			}
			if err := packages.addTo(&options, cmd, &flags, !noVerify); err != nil {
				return err
			}
			files, err := emit.Render(lowered, options)
			if err != nil {
				return src.locate(err)
			}
			if check {
				return checkFiles(cmd.OutOrStdout(), out, files)
			}
			if program.Auto != nil {
				fmt.Fprint(cmd.OutOrStdout(), describeAuto(program))
			}
			return writeFiles(cmd.OutOrStdout(), out, files, program.Meshes[0].Size(), force)
		},
	}
	flags.register(cmd)
	packages.register(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "folder to write to; made if it is not there")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite files that were edited or that hirgen did not write, another program, and a "+
		"folder of others")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; list files that are stale or orphaned, and exit with 1 if there are any")
	cmd.Flags().BoolVar(&noVerify, "no-verify", false, "write the program without proving it")
	_ = cmd.MarkFlagDirname("output")
	return cmd
}

// proveFor proves the variants of a program before it is written. It prints the findings of each variant, or only one line
// if all findings of the variant are warnings. It returns an error with exit code 8 if the program must not be written.
func proveFor(w io.Writer, p *calls.Described, load values.Load) error {
	reports, err := prove.Each(p.Programs(), load)
	if err != nil {
		return err
	}
	for _, report := range reports {
		switch {
		case len(report.Findings) == 0:
			continue
		case report.Warns():
			fmt.Fprintln(w, report.Line()+"; hirgen verify tells them")
			continue
		}
		report.Text(w)
		if !report.Emits() {
			fmt.Fprintln(w, "hirgen: nothing is written; see docs/verification.md, or give --no-verify")
			return &exitError{code: exitNotProved}
		}
	}
	return nil
}

// writeFiles writes a program for some number of ranks, and prints the next command.
func writeFiles(w io.Writer, out string, files []emit.File, ranks int, force bool) error {
	changed, err := emit.Write(out, files, emit.WriteOptions{Force: force})
	if err != nil {
		return err
	}
	if len(changed) == 0 {
		fmt.Fprintf(w, "%s is up to date (%d files); next: hirgen run %s -n %d\n", out, len(files), out, ranks)
		return nil
	}
	fmt.Fprintf(w, "wrote %d of %d files to %s; next, to build and run: hirgen run %s -n %d\n",
		len(changed), len(files), out, out, ranks)
	return nil
}

func checkFiles(w io.Writer, out string, files []emit.File) error {
	stale, orphaned, edited, err := emit.Check(out, files)
	if err != nil {
		return err
	}
	for _, group := range []struct {
		what  string
		names []string
	}{{"stale", stale}, {"orphaned", orphaned}, {"edited", edited}} {
		for _, name := range group.names {
			fmt.Fprintf(w, "%-8s  %s\n", group.what, name)
		}
	}
	if len(stale)+len(orphaned)+len(edited) > 0 {
		return &exitError{code: exitSpec}
	}
	return nil
}
