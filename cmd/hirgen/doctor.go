package main

import (
	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/internal/tools/doctor"
)

func newDoctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at this machine: what programs run on, what is missing, and how to install it",
		Long: `Examine the tools and the machine that programs need: compilers, GPUs, libraries, limits.

The first line names the device for programs on this machine. Under the table, each thing that is missing has what does not work
without it, and the command that installs it. Nothing is changed. The exit code is 0 if programs can be built and run
here, on GPUs or on the CPU device, and 3 if not.`,
		Example: "  hirgen doctor\n  hirgen doctor --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report := doctor.Examine(cmd.Context(), doctor.This())
			var err error
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				err = report.Print(cmd.OutOrStdout())
			}
			if err == nil && report.Device == "" {
				err = &exitError{exitEnvironment}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
