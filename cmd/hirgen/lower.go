package main

import (
	"io"

	"github.com/spf13/cobra"

	calltext "github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

func newLower() *cobra.Command {
	var flags specFlags
	var asJSON, asGraph, asCalls bool
	cmd := &cobra.Command{
		Use:   "lower SPEC",
		Short: "Print the host program that a spec lowers to",
		Long: `Print the host program that a spec lowers to, with one statement per line. Each rank, one process per GPU, runs it.
With transport: auto there are two programs: the one after the line "fallback:" runs where not all ranks can share memory.

--calls prints what this becomes in C++: the calls of CUDA, NCCL and cuBLASLt, one per line, with their streams, events
and flags. --graph prints the tasks that may overlap, and what each has to wait for. SPEC may be - for standard input.`,
		Example: `  hirgen lower testdata/specs/ag_matmul/spec.yaml
  hirgen lower testdata/specs/ag_matmul/spec.yaml -p S=8 --json
  hirgen lower testdata/specs/mlp_tp/spec.yaml --graph
  hirgen lower testdata/specs/ag_matmul/spec.yaml --dump-after=all 2>&1 | less`,
		Args:              exactly("SPEC"),
		ValidArgsFunction: completeSpec,
		RunE: func(cmd *cobra.Command, args []string) error {
			if asGraph {
				return flags.printGraph(cmd, args[0])
			}
			program, src, err := flags.lower(cmd, args[0])
			if err != nil {
				return err
			}
			lowered, err := src.calls(program) // also without --calls, for --dump-after
			switch {
			case asCalls && err != nil:
				return err
			case asCalls:
				_, err = io.WriteString(cmd.OutOrStdout(), calltext.PrintAll(lowered.Programs()))
				return err
			}
			return printProgram(cmd.OutOrStdout(), program, asJSON)
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an object with name and body instead of text")
	cmd.Flags().BoolVar(&asCalls, "calls", false, "print the calls that the program makes")
	cmd.MarkFlagsMutuallyExclusive("json", "calls")
	cmd.Flags().BoolVar(&asGraph, "graph", false, "print the tasks that may overlap, and below each what it follows and why")
	return cmd
}

// printGraph prints the tasks of a pipeline and their dependencies.
func (f *specFlags) printGraph(cmd *cobra.Command, path string) error {
	pipeline, src, err := f.load(cmd, path)
	if err != nil {
		return err
	}
	graph, err := lowering.Graph(pipeline)
	if err != nil {
		return src.locate(err)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), graph)
	return err
}

func printProgram(w io.Writer, program *hostir.Program, asJSON bool) error {
	if !asJSON {
		_, err := io.WriteString(w, text.Print(program))
		return err
	}
	printed, err := text.JSON(program)
	if err != nil {
		return err
	}
	_, err = w.Write(append(printed, '\n'))
	return err
}

// completeSpec completes the name of one YAML file.
func completeSpec(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
