package main

import (
	"cmp"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/calls"
	calltext "github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/prove/values"
)

func newVerify() *cobra.Command {
	var flags specFlags
	var ranks int64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify SPEC|CALLS|OUT...",
		Short: "Prove that a program has no race and no deadlock, and computes the spec",
		Long: `Prove that a program is right, before anything is built. The proof covers all ranks and calls that follow one another:

  - no two accesses to the same bytes are unordered, across streams, ranks and CUDA IPC
  - nothing waits forever
  - flags and NCCL calls match between the ranks
  - every access stays within its memory
  - every output is the function of the inputs that the spec says

A finding names the rank, stream, call, line of the spec and bytes, and the wait that is missing.

SPEC is a spec. CALLS is the text that hirgen lower --calls prints; nothing says what it should compute, so the last point
is left out. OUT is the folder of an emitted program: hirgen proves the calls that the folder carries, and lists source files
that somebody edited since. SPEC and CALLS may be - for standard input. With several files each is proved, even if another one
is wrong. docs/verification.md says what is modelled, what is assumed and what is not covered.

Exit codes: 0 proved, perhaps with warnings; 8 not proved, or not decided; 9 proved, but files of the folder were edited. With
several files the most serious one counts.`,
		Example: `  hirgen verify testdata/specs/ag_matmul/spec.yaml
  hirgen verify testdata/specs/ag_matmul/spec.yaml -n 8 --json
  hirgen lower testdata/specs/mlp_tp/spec.yaml --calls | hirgen verify -
  hirgen verify out
  hirgen verify testdata/specs/ag_matmul/spec.yaml testdata/specs/matmul_rs/spec.yaml`,
		Args:              severalOf("SPEC"),
		ValidArgsFunction: completeSpecs,
		RunE: func(cmd *cobra.Command, args []string) error {
			found := &proofs{out: cmd.OutOrStdout(), asJSON: asJSON}
			err := eachFile(cmd, args, func(path string) error {
				if len(args) > 1 {
					found.heading = path + ":\n"
				}
				own := flags // -n sets a parameter whose name differs from spec to spec
				own.params = slices.Clone(flags.params)
				return own.verify(cmd, path, ranks, found)
			})
			return cmp.Or(found.end(), err)
		},
	}
	flags.register(cmd)
	cmd.Flags().Int64VarP(&ranks, "ranks", "n", 0, "set the parameter that the mesh has as its one axis to `RANKS`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an array of reports, one for each variant of each file, instead of text")
	return cmd
}

// verify proves a spec, the text of calls, or an emitted folder. ranks > 0 replaces the number of ranks.
func (f *specFlags) verify(cmd *cobra.Command, path string, ranks int64, found *proofs) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return f.verifyFolder(cmd, path, ranks, found)
	}
	programs, load, err := f.programs(cmd, path, ranks)
	if err != nil {
		return err
	}
	return found.prove(programs, load)
}

// programs returns the calls of a spec, and a function that loads its model. For a file of calls in text form, it returns
// the calls in the file and nil.
func (f *specFlags) programs(cmd *cobra.Command, path string, ranks int64) ([]*calls.Program, values.Load, error) {
	text, err := readAll(cmd.InOrStdin(), path)
	if err != nil {
		return nil, nil, err
	}
	if strings.HasPrefix(text, "calls ") {
		list, err := f.written(path, text, ranks)
		return list, nil, err
	}
	cmd.SetIn(strings.NewReader(text))
	if ranks > 0 {
		if err := f.setRanks(cmd, path, ranks); err != nil {
			return nil, nil, err
		}
		cmd.SetIn(strings.NewReader(text))
	}
	program, src, err := f.lower(cmd, path)
	if err != nil {
		return nil, nil, err
	}
	lowered, err := src.calls(program)
	if err != nil {
		return nil, nil, err
	}
	return lowered.Programs(), f.model(src), nil
}

// model returns a function that loads the model of a spec with other values of some parameters.
func (f *specFlags) model(src *source) values.Load {
	return func(params map[string]int64) (*model.Pipeline, error) {
		overrides, settings, err := parseSettings(f.params, f.schedule)
		if err != nil {
			return nil, err
		}
		maps.Copy(overrides, params)
		return model.Load(src.name, src.text, overrides, settings...)
	}
}

// readAll reads the whole text at a path, or standard input for "-".
func readAll(in io.Reader, path string) (string, error) {
	if path != "-" {
		text, err := os.ReadFile(filepath.Clean(path))
		return string(text), err
	}
	text, err := io.ReadAll(in)
	return string(text), err
}

// setRanks adds -p for the parameter that sets the number of ranks.
func (f *specFlags) setRanks(cmd *cobra.Command, path string, ranks int64) error {
	pipeline, _, err := f.load(cmd, path)
	if err != nil {
		return err
	}
	name, err := parameterOf(pipeline)
	if err != nil {
		return err
	}
	f.params = append(f.params, name+"="+expr.Int(ranks).String())
	return nil
}

// parameterOf returns the parameter that sets the number of ranks: the extent of the only axis of the only mesh. It
// returns an error if there is none.
func parameterOf(p *model.Pipeline) (string, error) {
	if len(p.Meshes) == 1 && len(p.Meshes[0].Axes) == 1 {
		if name, ok := p.Meshes[0].Axes[0].Expr().(expr.Var); ok {
			return string(name), nil
		}
	}
	return "", usagef("-n sets the one axis of a mesh that is a parameter, and this spec has no such mesh; set its parameters with -p")
}

// written parses the text form of programs, and applies -p and ranks.
func (f *specFlags) written(path, text string, ranks int64) ([]*calls.Program, error) {
	if len(f.schedule)+len(f.disable)+len(f.dumpAfter) > 0 {
		return nil, usagef("%s has the calls of a program, which need no lowering: only -p and -n apply", path)
	}
	params, err := parseParams(f.params)
	if err != nil {
		return nil, err
	}
	list, err := calltext.ParseAll(path, text)
	if err != nil {
		return nil, (&source{path: path, text: []byte(text)}).locate(err)
	}
	for _, p := range list {
		if ranks > 0 {
			name, ok := p.Meshes[0].Extents[0].(expr.Var)
			if !ok || len(p.Meshes[0].Extents) != 1 {
				return nil, usagef("-n sets the one axis of the first mesh, and that is no parameter")
			}
			params[string(name)] = ranks
		}
		for _, d := range p.Params {
			if v, ok := params[d.Name]; ok {
				d.Value = v
			}
		}
	}
	return list, nil
}
