package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/internal/tools/timeline"
)

func newTimeline() *cobra.Command {
	var out string
	var specs, titles []string
	cmd := &cobra.Command{
		Use:   "timeline TRACE... -o PAGE",
		Short: "Draw measured and predicted traces as a page",
		Long: `Draw traces as one HTML page that needs no other file and no network. It has a track for each stream of each rank, and
shows which communication is hidden behind computation, how long each rank is exposed or idle, and the critical path. Several
traces share one time axis, one above the other.

A TRACE is what --trace of an emitted program or of hirgen check wrote, or a trace of PyTorch's profiler (.json or .json.gz),
from which only GPU activity is drawn.`,
		Example: `  hirgen timeline measured.json predicted.json --spec spec.yaml -o page.html
  hirgen check spec.yaml --trace predicted.json && hirgen timeline predicted.json -o page.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usagef("say where to write: -o PAGE")
			}
			return drawTimeline(cmd.OutOrStdout(), args, specs, titles, out)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write the page to `PAGE`")
	cmd.Flags().StringArrayVar(&specs, "spec", nil, "show the lines of `SPEC` that slices name; repeatable")
	cmd.Flags().StringArrayVar(&titles, "title", nil, "call the first trace `TITLE`, not by its file; repeat it for the next")
	return cmd
}

func drawTimeline(w io.Writer, paths, specs, titles []string, out string) error {
	var traces []*timeline.Trace
	for _, path := range paths {
		t, err := readTrace(path)
		if err != nil {
			return err
		}
		traces = append(traces, t)
	}
	nameShortly(traces)
	for i, title := range titles[:min(len(titles), len(traces))] {
		traces[i].Name = title
	}
	sources := timeline.Sources{}
	for _, spec := range specs {
		text, err := os.ReadFile(spec)
		if err != nil {
			return err
		}
		sources.Add(spec, string(text))
	}
	if err := toFile(out, func(w io.Writer) error { return timeline.Page(w, traces, sources) }); err != nil {
		return err
	}
	timeline.Text(w, traces)
	return nil
}

// nameShortly shortens the names of traces to their base names, if these differ.
func nameShortly(traces []*timeline.Trace) {
	seen := map[string]bool{}
	for _, t := range traces {
		seen[filepath.Base(t.Name)] = true
	}
	if len(seen) < len(traces) {
		return
	}
	for _, t := range traces {
		t.Name = filepath.Base(t.Name)
	}
}

// readTrace reads a trace. A file that is not a trace is a usage error.
func readTrace(path string) (*timeline.Trace, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	t, err := timeline.Read(path, file)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return t, nil
}
