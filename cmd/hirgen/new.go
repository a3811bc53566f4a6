package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	api "github.com/hirgen/hirgen"
	"github.com/hirgen/hirgen/model/names"
)

func newNew() *cobra.Command {
	var layer, name, dtype string
	var ranks int64
	var params []string
	cmd := &cobra.Command{
		Use:   "new FILE",
		Short: "Write a spec to begin from",
		Long: `Write a spec to begin from: one of the layers below, with your sizes and your number of ranks. The spec is short,
checks as it is, and, once built, runs in seconds without a GPU. Its first line is a comment with the JSON schema, for editors.

On a terminal, hirgen asks for what no flag says. Each answer is checked at once; where it does not fit, hirgen says why
and asks again. FILE may be - for standard output. A file that is there already is not overwritten.

` + layerList(),
		Example: `  hirgen new my.yaml
  hirgen new mlp.yaml --layer swiglu_tp -n 4 -p M=4096
  hirgen new mlp8.yaml --layer mlp_tp --dtype fp8`,
		Args: exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			sizes, err := parseParams(params)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("ranks") {
				sizes["D"] = ranks
			}
			if !slices.Contains(api.Types, dtype) {
				return usagef("--dtype is one of %s", strings.Join(api.Types, ", "))
			}
			if err := mayBecome(args[0], name); err != nil {
				return err
			}
			if layer == "" {
				if !isTerminal(cmd.InOrStdin()) {
					return usagef("say which layer: --layer %s", strings.Join(api.Layers, ", "))
				}
				if layer, err = askForAll(cmd.InOrStdin(), cmd.ErrOrStderr(), sizes); err != nil {
					return err
				}
			}
			if !slices.Contains(api.Layers, layer) {
				return usagef("%q: %s", layer, unknownLayer(layer))
			}
			return writeNew(cmd, args[0], layer, name, dtype, sizes)
		},
	}
	cmd.Flags().StringVar(&layer, "layer", "", "begin from `LAYER`")
	cmd.Flags().StringVar(&name, "name", "", "name of the pipeline; without it that of the file, or of the layer")
	cmd.Flags().StringVar(&dtype, "dtype", api.Types[0], "element `TYPE`: "+strings.Join(api.Types, ", ")+" (operands of GEMMs alone)")
	cmd.Flags().Int64VarP(&ranks, "ranks", "n", 0, "number of ranks")
	cmd.Flags().StringArrayVarP(&params, "param", "p", nil, "set a size, `NAME=VALUE`; repeatable")
	_ = cmd.RegisterFlagCompletionFunc("dtype", cobra.FixedCompletions(api.Types, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("layer", cobra.FixedCompletions(api.Layers, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// mayBecome checks the path and the name of a new spec before the first question.
func mayBecome(path, name string) error {
	if _, err := os.Lstat(path); path != "-" && err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: syscall.EEXIST}
	}
	if name == "" {
		return nil
	}
	spec, err := api.NewSpec(api.Layers[0], name, api.Types[0], nil)
	if err != nil {
		return (&source{path: name + ".yaml", text: spec}).locate(err)
	}
	return nil
}

// layerList describes each layer for --help.
func layerList() string {
	var b strings.Builder
	for _, layer := range api.Layers {
		doc, _, err := api.Layer(layer)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "  %-18s %s\n", layer, doc)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// writeNew writes the spec to a new file, or to standard output for "-".
func writeNew(cmd *cobra.Command, path, layer, name, dtype string, sizes map[string]int64) error {
	if name == "" {
		name, _, _ = strings.Cut(filepath.Base(path), ".")
		if names.Fault(name) != "" || names.ReservedBy(name, true) != "" {
			name = layer
		}
	}
	spec, err := api.NewSpec(layer, name, dtype, maps.Clone(sizes))
	if err != nil {
		return (&source{path: name + ".yaml", text: spec}).locate(err)
	}
	if path == "-" {
		_, err = cmd.OutOrStdout().Write(spec)
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err = file.Write(spec); err == nil {
		err = file.Close()
	}
	if err == nil {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s; next: hirgen check %s\n", path, path)
	}
	return err
}
