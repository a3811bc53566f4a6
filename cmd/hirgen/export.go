package main

import (
	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/emit/gosrc"
)

func newExportGo() *cobra.Command {
	var flags specFlags
	cmd := &cobra.Command{
		Use:   "export-go SPEC",
		Short: "Print a Go program that builds a spec's pipeline",
		Long: `Print a Go program that builds the same pipeline with model.Builder, as a person would write it, and emits it. Use
it when a spec needs loops or functions. Run it inside a module that requires hirgen.`,
		Example: `  hirgen export-go testdata/specs/ag_matmul/spec.yaml > main.go
  go run main.go out`,
		Args:              exactly("SPEC"),
		ValidArgsFunction: completeSpec,
		RunE: func(cmd *cobra.Command, args []string) error {
			pipeline, _, err := flags.load(cmd, args[0])
			if err != nil {
				return err
			}
			program, err := gosrc.Export(pipeline)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(program)
			return err
		},
	}
	flags.registerSpec(cmd)
	return cmd
}
