package main

import "github.com/spf13/cobra"

// groups lists the sections of hirgen --help, in the order in which a user needs them.
var groups = []struct {
	id, title string
	commands  []string
}{
	{"write", "Write a spec:", []string{"new", "check", "fmt", "ops", "schedule", "schema", "grad", "export-go"}},
	{"build", "Build and run its program:", []string{"emit", "run", "cache", "doctor"}},
	{"see", "See what is done, and why:", []string{"lower", "explain", "passes", "timeline"}},
	{"measure", "Measure and predict:", []string{"bench", "tune", "simulate"}},
	{"trust", "Trust a program:", []string{"verify"}},
}

// group puts the commands of root into their groups. Help lists a command of no group below all others.
func group(root *cobra.Command) {
	of := map[string]string{}
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, name := range g.commands {
			of[name] = g.id
		}
	}
	for _, cmd := range root.Commands() {
		cmd.GroupID = of[cmd.Name()]
	}
}

// ungrouped lists the commands about hirgen itself. The help lists them last.
var ungrouped = []string{"completion", "help", "man", "version"}
