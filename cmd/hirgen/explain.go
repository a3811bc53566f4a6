package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/tools/explain"
	"github.com/hirgen/hirgen/model"
)

func newExplain() *cobra.Command {
	var flags specFlags
	var out string
	var alternatives bool
	cmd := &cobra.Command{
		Use:   "explain CODE | SPEC -o PAGE",
		Short: "Explain an error code, or write a page about what hirgen makes of a spec",
		Long: `Explain an error code, with an example of the mistake.

Or, with -o, write a page about a spec: one HTML file that needs no other. It shows the graph of tasks, the program after each
pass and what the pass changed, the calls and the emitted lines, all linked to the lines of the spec; why each wait and each
communication is there; and how long other schedules are predicted to take. SPEC may be - for standard input, and PAGE - for standard output.`,
		Example: `  hirgen explain HG031
  hirgen explain testdata/specs/ag_matmul/spec.yaml -o page.html
  hirgen explain testdata/specs/llama_mlp/spec.yaml -p D=4 --schedule auto --machine h100 -o page.html`,
		Args: exactly("CODE or SPEC"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return errorCodes(), cobra.ShellCompDirectiveDefault // ShellCompDirectiveDefault offers files, too
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if out != "" {
				return flags.explain(cmd, args[0], out, alternatives)
			}
			return explainCode(cmd.OutOrStdout(), args[0])
		},
	}
	flags.registerSpec(cmd)
	flags.registerMachine(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "write a page about a spec to `FILE`")
	cmd.Flags().BoolVar(&alternatives, "alternatives", true, "predict other schedules, too; "+
		"the page of a Llama block takes 9 s for 2 ranks, 2 s without them, and 50 s for 64 ranks")
	return cmd
}

// explainCode prints the explanation of an error code. An unknown code is a usage error.
func explainCode(w io.Writer, code string) error {
	text := diag.Explain(strings.ToUpper(code))
	if _, err := os.Stat(code); text == "" && (err == nil || code == "-") {
		return usagef("a page about the spec %s needs a file: -o page.html", code)
	}
	if text == "" {
		return usagef("there is no error code %q; they are listed in docs/errors.md", code)
	}
	_, err := fmt.Fprintln(w, strings.TrimRight(text, "\n"))
	return err
}

// explain writes a page about the spec at path.
func (f *specFlags) explain(cmd *cobra.Command, path, out string, alternatives bool) error {
	options, err := f.loweringOptions(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	machine, err := loadMachine(f.machine)
	if err != nil {
		return err
	}
	pipeline, src, err := f.load(cmd, path)
	if err != nil {
		return err
	}
	params, err := parseParams(f.params)
	if err != nil {
		return err
	}
	input := explain.Input{
		Text: src.text, Pipeline: pipeline, Machine: machine, Options: options,
		Emit: emit.Options{Version: programVersion(), Flags: f.settings()},
	}
	if alternatives {
		input.Load = func(settings ...model.Setting) (*model.Pipeline, error) {
			return model.Load(pipeline.File, src.text, params, settings...)
		}
	}
	page, err := explain.Collect(input)
	if err != nil {
		return src.locate(err)
	}
	if out == "-" {
		return page.Write(cmd.OutOrStdout())
	}
	if err := toFile(out, page.Write); err != nil {
		return err
	}
	wroteTo(cmd.ErrOrStderr(), out, "open it in a browser")
	return nil
}

// errorCodes returns the completions of explain: each error code with its title.
func errorCodes() []string {
	var codes []string
	for _, e := range diag.Entries() {
		codes = append(codes, cobra.CompletionWithDesc(string(e.Code), e.Title))
	}
	return codes
}
