package main

import (
	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/emit"
)

// packageFlags ask for packages of other languages in a program's folder.
type packageFlags struct{ emit.Packages }

func (f *packageFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.Go, "go", false, "add a Go package that calls the program's library, in OUT/go")
	flags.StringVar(&f.GoModule, "go-module", "", "`PATH` of the Go package's module; the default is one that is not published")
}

// check says what is wrong with them.
func (f *packageFlags) check() error {
	if f.GoModule != "" && !f.Go {
		return usagef("--go-module is for a Go package; add --go")
	}
	if err := f.Check(); err != nil {
		return usagef("--go-module: %v", err)
	}
	return nil
}
