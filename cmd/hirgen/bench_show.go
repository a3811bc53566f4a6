package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hirgen/hirgen/internal/tools/bench"
)

// besideFrom lists the flags that are valid with --from, which measures nothing.
var besideFrom = []string{"from", "page", "csv"}

// show prints, draws and writes earlier results. It does not fail because of wrong or failed rows.
func (f *benchFlags) show(cmd *cobra.Command, args []string) error {
	others := slices.Clone(args)
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(besideFrom, flag.Name) {
			others = append(others, "--"+flag.Name)
		}
	})
	if len(others) > 0 {
		return usagef("--from shows what was measured before, and measures nothing; it does not go with %s", strings.Join(others, ", "))
	}
	result, err := readRows("--from", f.from)
	if err != nil {
		return err
	}
	return f.write(cmd.OutOrStdout(), result)
}

// readRows reads the rows from the file of a flag. A file with other content is a usage error.
func readRows(flag, path string) (*bench.Result, error) {
	result, err := bench.Read(path)
	var missing *fs.PathError
	if err != nil && !errors.As(err, &missing) {
		return nil, usagef("%s %v", flag, err)
	}
	return result, err
}

// write prints the rows, and writes the files of --csv and --page.
func (f *benchFlags) write(w io.Writer, result *bench.Result) error {
	if err := result.Text(w); err != nil {
		return err
	}
	for path, write := range map[string]func(io.Writer) error{f.csv: result.CSV, f.page: result.Page} {
		if path == "" {
			continue
		}
		if err := toFile(path, write); err != nil {
			return err
		}
	}
	return nil
}

// toFile writes a file. It refuses to replace a spec, because that may be the only copy.
func toFile(path string, write func(io.Writer) error) error {
	if have, err := os.ReadFile(path); err == nil && regexp.MustCompile(`(?m)^hirgen:`).Match(have) {
		return usagef("%s is a spec, which this would replace: name another file", path)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

// wroteTo prints the written file and the next command.
func wroteTo(w io.Writer, path, next string) {
	fmt.Fprintf(w, "wrote %s; next: %s\n", path, next)
}
