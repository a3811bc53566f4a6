package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/internal/base/spell"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/schedules"
)

func newPasses() *cobra.Command {
	return &cobra.Command{
		Use:   "passes",
		Short: "List the passes that lower a spec, and why they come in this order",
		Long: `List the passes that turn a spec into a host program, and then into calls of CUDA, NCCL and cuBLASLt. They are listed in
their order, with its reasons. --disable-pass leaves out an optional pass. "hirgen lower --dump-after PASS" prints the program after
a pass.`,
		Example: "  hirgen passes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return lowering.Describe(cmd.OutOrStdout())
		},
	}
}

// everyPass is a value of --dump-after in addition to the steps of the lowering.
const everyPass = "all"

// loweringOptions checks the names of passes, loads a machine other than the default one, and sets up the dumps.
func (f *specFlags) loweringOptions(w io.Writer) (lowering.Options, error) {
	for _, name := range f.disable {
		if err := knownPass("--disable-pass", name, passNames()); err != nil {
			return lowering.Options{}, err
		}
		if isRequired(name) {
			return lowering.Options{}, usagef("--disable-pass: no program can be emitted without %s; \"hirgen passes\" shows which are optional",
				name)
		}
	}
	for _, name := range f.dumpAfter {
		if err := knownPass("--dump-after", name, dumpNames()); err != nil {
			return lowering.Options{}, err
		}
	}
	options := lowering.Options{Disable: f.disable, Verify: true}
	if f.machine != schedules.MeasuredMachine {
		machine, err := loadMachine(f.machine)
		if err != nil {
			return options, err
		}
		options.Machine = machine
	}
	if len(f.dumpAfter) > 0 {
		options.DumpAfter = func(pass, text string, changed bool) {
			if slices.Contains(f.dumpAfter, everyPass) || slices.Contains(f.dumpAfter, pass) {
				dump(w, pass, text, changed)
			}
		}
	}
	return options, nil
}

// dump prints the program after a pass, or that the pass did not change it.
func dump(w io.Writer, pass, text string, changed bool) {
	if !changed {
		fmt.Fprintf(w, "# after %s: unchanged\n\n", pass)
		return
	}
	fmt.Fprintf(w, "# after %s: changed\n%s\n", pass, text)
}

func passNames() []string {
	var names []string
	for _, pass := range lowering.Passes {
		names = append(names, pass.Name)
	}
	return names
}

func dumpNames() []string { return append(lowering.Steps(), everyPass) }

func isRequired(name string) bool {
	return slices.ContainsFunc(lowering.Passes, func(p lowering.Pass) bool { return p.Name == name && p.Required })
}

// knownPass returns a usage error for a name that is not in names. The error suggests a similar name, if there is one.
func knownPass(flag, name string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	hint := "see: hirgen passes"
	if nearest, ok := spell.Nearest(name, names); ok {
		hint = fmt.Sprintf("did you mean %q?", nearest)
	}
	return usagef("%s: there is no pass %q; %s", flag, name, hint)
}

// completing returns a function that completes a flag or an argument with a list of names.
func completing(names func() []string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
}
