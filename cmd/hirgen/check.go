package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

func newCheck() *cobra.Command {
	var flags specFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check SPEC",
		Short: "Check a spec without emitting anything",
		Long: `Read, validate and lower a spec, and say in a few lines what came of it: tensors with
one rank's shape, and the communication that was derived. With --json all of it, for scripts:
parameters, meshes, schedule, tensors, operations and communications. SPEC may be - for standard input.`,
		Example: `  hirgen check testdata/specs/ag_matmul/spec.yaml -p M=4096
  hirgen check testdata/specs/ag_matmul_auto/spec.yaml --json`,
		Args:              exactly("SPEC"),
		ValidArgsFunction: completeSpec,
		RunE: func(cmd *cobra.Command, args []string) error {
			program, src, err := flags.lower(cmd, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printReport(cmd.OutOrStdout(), src.pipeline, program)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), summary(program))
			return err
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object instead of text")
	return cmd
}

// summary describes a lowered program to whoever wrote its spec.
func summary(p *hostir.Program) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %d ranks, %d worker streams\n", p.Name, p.Meshes[0].Size(), p.Streams)
	for _, t := range p.Tensors {
		switch t.Role {
		case hostir.Input:
			fmt.Fprintf(&text, "  input   %s\n", describeTensor(t))
		case hostir.Output:
			fmt.Fprintf(&text, "  output  %s\n", describeTensor(t))
		}
	}
	describeMovements(&text, p)
	if p.Otherwise != nil {
		fmt.Fprintf(&text, "  transfers by CUDA IPC; where not all ranks can share memory, within nodes alone, and by %s between them\n",
			p.Otherwise.Choices.Elsewhere)
		fmt.Fprintf(&text, "  there instead:\n")
		describeMovements(&text, p.Otherwise)
	}
	return text.String()
}

// describeMovements prints what moves between ranks, with how often a call does it.
func describeMovements(text *strings.Builder, p *hostir.Program) {
	movements := hostir.Movements(p)
	for _, m := range movements {
		fmt.Fprintf(text, "  %s\n", m)
	}
	if len(movements) == 0 {
		fmt.Fprintf(text, "  no communication\n")
	}
}

// describeTensor prints name, element type, axes as in the spec and one rank's share.
func describeTensor(t *hostir.Tensor) string {
	local := make([]string, len(t.Axes))
	for i, axis := range t.Axes {
		local[i] = strconv.FormatInt(axis.LocalSize(), 10)
	}
	return fmt.Sprintf("%s %s %s, one rank holds [%s]",
		t.Name, t.DType, domain.FormatAxes(t.Axes), strings.Join(local, ", "))
}
