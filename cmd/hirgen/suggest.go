package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hirgen/hirgen/internal/base/spell"
)

// otherNames maps names that users try to commands of hirgen.
var otherNames = map[string]string{
	"build": "emit", "compile": "emit", "generate": "emit", "gen": "emit",
	"validate": "check", "lint": "check", "format": "fmt", "init": "new", "create": "new",
	"prove": "verify", "test": "verify", "benchmark": "bench", "time": "bench", "predict": "simulate",
	"operations": "ops", "trace": "timeline", "backward": "grad", "gradient": "grad", "export": "export-go",
	"exec": "run", "launch": "run", "ir": "lower", "dump": "lower", "show": "lower",
}

// suggest returns an error for an unknown command. It names the command that was probably meant, if there is one.
func suggest(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := "unknown command \"" + args[0] + "\""
	var names []string
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			names = append(names, cmd.Name())
		}
	}
	meant, ok := otherNames[strings.ToLower(args[0])]
	if !ok {
		meant, ok = spell.Nearest(args[0], names)
	}
	if ok {
		message += "; did you mean " + root.Name() + " " + meant + "?"
	}
	return errors.New(message)
}

// suggestFlag adds the flag that was probably meant, if there is one, to the error of an unknown flag.
func suggestFlag(cmd *cobra.Command, err error) error {
	unknown := new(pflag.NotExistError)
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	name := unknown.GetSpecifiedName()
	meant, ok := otherFlags[name]
	if ok && cmd.Flags().Lookup(meant) == nil {
		ok = false
	}
	if !ok {
		meant, ok = spell.Nearest(name, names)
	}
	if !ok {
		return err
	}
	return errors.New(err.Error() + "; did you mean --" + meant + "?")
}

// otherFlags maps flags that users try to flags of hirgen.
var otherFlags = map[string]string{
	"out": "output", "out-dir": "output", "output-dir": "output", "nproc": "ranks", "np": "ranks", "world-size": "ranks",
	"gpus": "ranks", "params": "param", "set": "param", "gpu": "device", "target": "device",
}
