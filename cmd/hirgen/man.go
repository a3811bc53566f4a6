package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan returns the command for packagers and "make man".
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write manual pages into a folder",
		Long:    `Write a manual page for every command into a folder, for packages and for "man".`,
		Example: "  hirgen man build/man\n  man build/man/hirgen-emit.1",
		Args:    exactly("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Title: "HIRGEN", Section: "1", Source: "hirgen " + programVersion(), Manual: "hirgen"},
				args[0])
		},
	}
}
