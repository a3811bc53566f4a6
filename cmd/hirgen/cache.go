package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/internal/base/cache"
)

func newCache() *cobra.Command {
	var clearAll bool
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Print or clear the cache of this machine: compiled runtimes and Python packages",
		Long: `Print the folder in which run, bench, tune and hirgen.load keep compiled runtimes and Python
packages, and what it has with sizes and ages. The folder is $HIRGEN_CACHE, else $XDG_CACHE_HOME/hirgen, else
~/.cache/hirgen. HIRGEN_CACHE=off shares nothing. Programs that are built run without the folder; after --clear
the next build compiles the runtime again.`,
		Example: "  hirgen cache\n  hirgen cache --clear",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, why := cache.Folder()
			if folder == "" {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "no folder: %s\n", why)
				return err
			}
			entries, err := cache.Entries(folder)
			if err != nil {
				return err
			}
			if clearAll {
				if err := cache.Clear(folder); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: cleared of %s\n", folder, amount(entries))
				return err
			}
			return printCache(cmd.OutOrStdout(), folder, entries, time.Now())
		},
	}
	cmd.Flags().BoolVar(&clearAll, "clear", false, "remove all of it")
	return cmd
}

// printCache prints the folder and a line for each entry.
func printCache(w io.Writer, folder string, entries []cache.Entry, now time.Time) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s: %s\n", folder, amount(entries))
	for _, e := range entries {
		fmt.Fprintf(table, "%s\t%.1f MB\t%s\n", e.Name, float64(e.Size)/1e6, age(now.Sub(e.Made)))
	}
	return table.Flush()
}

// amount returns the number of entries and their total size as text.
func amount(entries []cache.Entry) string {
	size := int64(0)
	for _, e := range entries {
		size += e.Size
	}
	noun := "entries"
	if len(entries) == 1 {
		noun = "entry"
	}
	return fmt.Sprintf("%d %s, %.1f MB", len(entries), noun, float64(size)/1e6)
}

// age returns how long ago something was, as text: "just now", or in minutes, hours or days.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}
