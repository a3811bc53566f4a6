package main

import (
	"path"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/grad"
)

// packageFlags ask for packages of other languages in a program's folder.
type packageFlags struct {
	emit.Packages
	backward string // path of the gradient's spec, as typed; empty: none
}

func (f *packageFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.Go, "go", false, "add a Go package that calls the program's library, in OUT/go")
	flags.StringVar(&f.GoModule, "go-module", "", "`PATH` of the Go package's module; the default is one that is not published")
	flags.BoolVar(&f.Python, "python", false, "add a package for PyTorch, which \"pip install OUT\" builds")
	flags.StringVar(&f.backward, "backward", "", "give its operator this `SPEC` as gradient, as hirgen grad writes it for the forward pass")
}

// check returns a usage error for wrong flags.
func (f *packageFlags) check() error {
	switch {
	case f.GoModule != "" && !f.Go:
		return usagef("--go-module is for a Go package; add --go")
	case f.backward != "" && !f.Python:
		return usagef("--backward is for the PyTorch package; add --python")
	}
	if err := f.Check(); err != nil {
		return usagef("--go-module: %v", err)
	}
	return nil
}

// addTo adds the packages to the options of the emitter. With --backward it also lowers that spec, and proves its
// program if proved is true.
func (f *packageFlags) addTo(options *emit.Options, cmd *cobra.Command, flags *specFlags, proved bool) error {
	options.Packages = f.Packages
	if f.backward == "" {
		return nil
	}
	_, program, src, own, err := flags.emitted(cmd, f.backward, proved)
	if err != nil {
		return err
	}
	options.Packages.Backward = path.Join(emit.BackwardFolder, emit.SpecFolder, src.name)
	options.Backward = &emit.Backward{Program: program, Options: own, Roles: grad.Roles(src.text)}
	return nil
}

// emitted lowers a spec, proves its program if proved is true, and returns the options for the emitter.
func (f *specFlags) emitted(cmd *cobra.Command, spec string, proved bool) (*hostir.Program, *calls.Described, *source,
	emit.Options, error) {
	f.emits = true
	program, lowered, src, err := f.lowered(cmd, spec)
	if err != nil {
		return nil, nil, nil, emit.Options{}, err
	}
	if proved {
		err = proveFor(cmd.ErrOrStderr(), lowered, f.model(src))
	}
	return program, lowered, src, emit.Options{Version: programVersion(), Flags: f.settings(), Spec: src.text}, err
}
