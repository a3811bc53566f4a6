package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/internal/base/spell"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
	"github.com/hirgen/hirgen/model/schema"
)

func newOps() *cobra.Command {
	return tableCommand(table[model.OpInfo]{
		use: "ops [OPERATION...]", short: "List the operations that a spec can write",
		long: `List the operations of specs: how to write each, and its result. Name some to see these alone. --json is for
scripts: it adds how many operands and results there may be, and the attributes.`,
		example: "  hirgen ops softmax\n  hirgen ops --json",
		what:    "operation", rows: model.OpInfos,
		name: func(o model.OpInfo) string { return o.Name }, describe: model.DescribeOps, hint: model.OpHint,
	})
}

func newSchedule() *cobra.Command {
	return tableCommand(table[schedule.Field]{
		use: "schedule [FIELD...]", short: "List the fields of the schedule, with their values",
		long: `List the fields of the schedule: the values of each, its default in parentheses, and its meaning. Name some to see
these alone. A field of communications is set for all of them, as in all.via, or for one of a tensor X, as in X.via.`,
		example: "  hirgen schedule via steps\n  hirgen schedule --json",
		what:    "field", rows: func() []schedule.Field { return schedule.Fields },
		name: func(f schedule.Field) string { return f.Name }, describe: schedule.Describe, hint: fieldHint,
	})
}

// fieldHint suggests the field of the schedule that was probably meant, or returns an empty string.
func fieldHint(name string) string {
	var names []string
	for _, f := range schedule.Fields {
		names = append(names, f.Name)
	}
	if nearest, ok := spell.Nearest(name, names); ok {
		return fmt.Sprintf("did you mean %q?", nearest)
	}
	return ""
}

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of specs, for editors",
		Long: `Print the JSON schema of specs, with which editors complete and check them. It is also published: a spec that
begins with this line needs no file.

  ` + schema.Line,
		Example: "  hirgen schema > hirgen.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := schema.Print()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
}

// A table describes a command that prints a list.
type table[Row any] struct {
	use, short, long, example, what string
	rows                            func() []Row
	name                            func(Row) string
	describe                        func(io.Writer, []Row) error
	hint                            func(name string) string // suggests a name for an unknown one; empty: no suggestion
}

// tableCommand returns a command that lists the rows with the given names, or all rows.
func tableCommand[Row any](t table[Row]) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: t.use, Short: t.short, Long: t.long, Example: t.example,
		ValidArgsFunction: completing(t.names),
		RunE: func(cmd *cobra.Command, args []string) error {
			rows, err := t.choose(args)
			if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(rows)
			}
			return t.describe(cmd.OutOrStdout(), rows)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array instead of text")
	return cmd
}

// names lists the possible arguments.
func (t *table[Row]) names() []string {
	var names []string
	for _, row := range t.rows() {
		names = append(names, t.name(row))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// choose returns the rows with the given names, or all rows without names. An unknown name is a usage error.
func (t *table[Row]) choose(names []string) ([]Row, error) {
	for _, name := range names {
		if slices.Contains(t.names(), name) {
			continue
		}
		return nil, usagef("there is no %s %q; %s", t.what, name, cmp.Or(t.hint(name), "without a name all are listed"))
	}
	return lists.Except(t.rows(), func(row Row) bool {
		return len(names) > 0 && !slices.Contains(names, t.name(row))
	}), nil
}
