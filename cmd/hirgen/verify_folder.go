package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model/grad"
	"github.com/hirgen/hirgen/prove/values"
)

// verifyFolder proves the calls that an emitted folder carries, and compares the folder's files with the files that hirgen
// prints for these calls.
func (f *specFlags) verifyFolder(cmd *cobra.Command, dir string, ranks int64, found *proofs) error {
	if len(f.settings())+len(f.disable)+len(f.dumpAfter) > 0 {
		return usagef("%s is a program's folder, which has its own settings: only -n and --json apply", dir)
	}
	record, err := emit.ReadRecord(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, emit.CallsName)
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return err
	}
	proved, err := f.written(path, string(text), ranks)
	if err != nil {
		return err
	}
	load, err := modelOf(cmd, dir, record, ranks)
	if err != nil {
		return err
	}
	if err := found.prove(proved, load); err != nil {
		return err
	}
	printed, err := (&specFlags{}).written(path, string(text), 0)
	if err != nil {
		return err
	}
	differences, err := compareSources(cmd, dir, record, printed)
	if err != nil {
		return err
	}
	if printDifferences(notes(cmd, found.asJSON), dir, differences) {
		return &exitError{code: exitEdited}
	}
	return nil
}

// modelOf returns a function that loads the model of the spec in a folder, on a number of ranks; 0 means the ranks of the
// spec.
func modelOf(cmd *cobra.Command, dir string, record *emit.Record, ranks int64) (values.Load, error) {
	own, err := readSettings(record.Flags)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, emit.SpecFolder, record.Spec)
	if ranks > 0 {
		if err := own.setRanks(cmd, path, ranks); err != nil {
			return nil, err
		}
	}
	_, src, err := own.load(cmd, path)
	if err != nil {
		return nil, err
	}
	return own.model(src), nil
}

// notes returns the writer for the differences. With --json, standard output contains only JSON.
func notes(cmd *cobra.Command, asJSON bool) io.Writer {
	if asJSON {
		return cmd.ErrOrStderr()
	}
	return cmd.OutOrStdout()
}

// compareSources renders calls with the spec and settings of a folder, and compares the result with the files of the
// folder.
func compareSources(cmd *cobra.Command, dir string, record *emit.Record, programs []*calls.Program) ([]emit.Difference, error) {
	own, err := readSettings(record.Flags)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, emit.SpecFolder, record.Spec)
	_, lowered, src, err := own.lowered(cmd, path)
	if err == nil {
		err = lowered.With(programs)
	}
	if err != nil {
		return nil, err
	}
	options := emit.Options{Version: record.Hirgen, Flags: record.Flags, Packages: record.Packages, Spec: src.text}
	if record.Backward != "" {
		_, backward, backwardSrc, err := own.lowered(cmd, filepath.Join(dir, record.Backward))
		if err != nil {
			return nil, err
		}
		options.Backward = &emit.Backward{
			Program: backward, Options: emit.Options{Version: record.Hirgen, Flags: record.Flags, Spec: backwardSrc.text},
			Roles: grad.Roles(backwardSrc.text),
		}
	}
	files, err := emit.Render(lowered, options)
	if err != nil {
		return nil, src.locate(err)
	}
	return emit.Differences(dir, files)
}

// readSettings parses flags in the form that settings returns.
func readSettings(flags []string) (*specFlags, error) {
	own := &specFlags{machine: schedules.MeasuredMachine}
	for i := 0; i+1 < len(flags); i += 2 {
		switch value := flags[i+1]; flags[i] {
		case "-p":
			own.params = append(own.params, value)
		case "--schedule":
			own.schedule = append(own.schedule, value)
		case "--machine":
			own.machine = value
		default:
			return nil, usagef("%s has the flag %s, which this hirgen does not know", emit.ManifestName, flags[i])
		}
	}
	return own, nil
}

// printDifferences lists files that were edited or are missing, counts the stale ones, and reports whether it listed any.
func printDifferences(w io.Writer, dir string, list []emit.Difference) (edited bool) {
	stale := 0
	for _, d := range list {
		where := filepath.Join(dir, filepath.FromSlash(d.Path))
		switch {
		case d.State == emit.Stale:
			stale++
			continue
		case d.State == emit.Missing:
			fmt.Fprintf(w, "%s: missing\n", where)
		case d.Line == 0:
			fmt.Fprintf(w, "%s: edited since it was written\n", where)
		case d.Lines == 0:
			fmt.Fprintf(w, "%s:%d: edited: lines are missing, the first is: %s\n", where, d.Line, strings.TrimSpace(d.Want))
		default:
			fmt.Fprintf(w, "%s:%d: edited: %s\n  has:    %s\n  prints: %s\n", where, d.Line, counted(d.Lines, "line"), strings.TrimSpace(d.Has),
				strings.TrimSpace(d.Want))
		}
		edited = true
	}
	if stale > 0 {
		fmt.Fprintf(w, "%s: %d files are as another version of hirgen wrote them, by its digests; this one prints them otherwise\n", dir, stale)
	}
	if len(list) == 0 {
		fmt.Fprintf(w, "%s: the sources agree with these calls\n", dir)
	}
	return edited
}

// counted prints a number of things: "1 line", "2 lines".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
