package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/internal/diag"
)

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:               "explain CODE",
		Short:             "Explain an error code, with an example that it is about",
		Example:           "  hirgen explain HG031",
		Args:              exactly("CODE"),
		ValidArgsFunction: completing(errorCodes),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := diag.Explain(strings.ToUpper(args[0]))
			if text == "" {
				return usagef("there is no error code %q; they are listed in docs/errors.md", args[0])
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.TrimRight(text, "\n"))
			return err
		},
	}
}

// errorCodes are what completion offers: the codes with what each is about.
func errorCodes() []string {
	var codes []string
	for _, e := range diag.Entries() {
		codes = append(codes, cobra.CompletionWithDesc(string(e.Code), e.Title))
	}
	return codes
}
