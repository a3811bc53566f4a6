package main

import (
	"bytes"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/internal/base/textdiff"
	"github.com/hirgen/hirgen/model"
)

func newFmt() *cobra.Command {
	var write, diff bool
	cmd := &cobra.Command{
		Use:   "fmt SPEC...",
		Short: "Format specs",
		Long: `Print specs in the standard form: indentation, spaces, and aligned columns of tensors and comments. The order of lines,
the text of comments and the meaning stay the same. With several files, hirgen formats each of them, even if another file is wrong. SPEC may
be - for standard input.`,
		Example: `  hirgen fmt -d testdata/specs/ag_matmul/spec.yaml
  hirgen fmt -w my.yaml`,
		ValidArgsFunction: completeSpecs,
		Args:              severalOf("SPEC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if write && slices.Contains(args, "-") {
				return usagef("-w: standard input is no file; leave out -w")
			}
			return eachFile(cmd, args, func(path string) error { return formatOne(cmd, path, write, diff) })
		},
	}
	cmd.Flags().BoolVarP(&write, "write", "w", false, "write the result to the file")
	cmd.Flags().BoolVarP(&diff, "diff", "d", false, "print what would change, and nothing else")
	return cmd
}

// formatOne formats the spec at a path, and prints it. With diff it prints the differences instead, and with write it
// replaces the file.
func formatOne(cmd *cobra.Command, path string, write, diff bool) error {
	src := &source{path: path}
	var err error
	if path == "-" {
		src.path = "stdin"
		src.text, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), model.MaxSpecSize+1))
	} else {
		src.text, err = os.ReadFile(path)
	}
	if err != nil {
		return err
	}
	formatted, err := model.Format(src.path, src.text)
	if err != nil {
		return src.locate(err)
	}
	if diff {
		if _, err := io.WriteString(cmd.OutOrStdout(), textdiff.Unified(src.path, string(src.text), string(formatted))); err != nil {
			return err
		}
	}
	switch {
	case write && !bytes.Equal(src.text, formatted):
		return os.WriteFile(path, formatted, 0o644)
	case !write && !diff:
		_, err = cmd.OutOrStdout().Write(formatted)
	}
	return err
}
