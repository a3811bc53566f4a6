package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"
)

// severity lists exit codes from the least to the most serious one. With several files, a command ends with the most
// serious one.
var severity = []int{exitOK, exitEdited, exitNotProved, exitSpec, exitEnvironment, exitInternal}

// eachFile runs a function for each file, and reports the errors of each. The returned error has the most serious exit
// code. A usage error or Ctrl-C ends eachFile at once. With a single file, it returns the error of that file.
func eachFile(cmd *cobra.Command, paths []string, do func(path string) error) error {
	if len(paths) == 1 {
		return do(paths[0])
	}
	worst, in := exitOK, cmd.InOrStdin()
	for _, path := range paths {
		cmd.SetIn(in) // the previous file may have replaced it
		err := do(path)
		if usage := new(usageError); errors.As(err, &usage) || errors.Is(err, context.Canceled) {
			return err
		}
		code := report(cmd.ErrOrStderr(), cmd, err)
		if slices.Index(severity, code) > slices.Index(severity, worst) {
			worst = code
		}
	}
	if worst != exitOK {
		return &exitError{code: worst}
	}
	return nil
}

// severalOf accepts one or more different arguments.
func severalOf(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return exactly(name)(cmd, args)
		}
		for i, path := range args {
			if slices.Contains(args[:i], path) {
				return errors.New(path + " is given twice")
			}
		}
		return nil
	}
}

// completeSpecs completes the names of any number of YAML files.
func completeSpecs(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return completeSpec(cmd, nil, word)
}
