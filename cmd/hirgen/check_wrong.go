package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"
)

// wrongReport is the output of hirgen check --json for a wrong spec.
type wrongReport struct {
	File        string             `json:"file"`
	Diagnostics []diagnosticReport `json:"diagnostics"`
}

// diagnosticReport is one error. Line and column begin with 1. They are 0 if the error has no position in the file.
type diagnosticReport struct {
	File    string       `json:"file"`
	Line    int          `json:"line"`
	Col     int          `json:"col"`
	Code    string       `json:"code"`
	Message string       `json:"message"`
	Hint    string       `json:"hint"`
	Notes   []noteReport `json:"notes"`
}

// noteReport is a related position in the spec.
type noteReport struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	Message string `json:"message"`
}

// reportWrong returns the report on a wrong spec. It returns nil if the error is not about a spec.
func reportWrong(err error) *wrongReport {
	spec := new(specError)
	if !errors.As(err, &spec) {
		return nil
	}
	r := &wrongReport{File: spec.path, Diagnostics: []diagnosticReport{}}
	for _, d := range spec.errors.Items {
		one := diagnosticReport{
			File: d.Pos.File, Line: d.Pos.Line, Col: d.Pos.Col,
			Code: string(d.Code), Message: d.Message, Hint: d.Hint, Notes: []noteReport{},
		}
		if one.File == "" {
			one.File = spec.path
		}
		for _, n := range d.Notes {
			one.Notes = append(one.Notes, noteReport{n.Pos.File, n.Pos.Line, n.Pos.Col, n.Message})
		}
		r.Diagnostics = append(r.Diagnostics, one)
	}
	return r
}

// checkEach checks files, and prints the reports as JSON with --json: an object for one file, and an
// array for several.
func checkEach(cmd *cobra.Command, paths []string, asJSON bool, once func(cmd *cobra.Command, path, heading string) (any, error)) error {
	reports := []any{}
	err := eachFile(cmd, paths, func(path string) error {
		heading := ""
		if len(paths) > 1 {
			heading = path + ":\n"
		}
		report, err := once(cmd, path, heading)
		if wrong := reportWrong(err); wrong != nil {
			report = wrong
		}
		if report != nil {
			reports = append(reports, report)
		}
		return err
	})
	var printed error
	switch {
	case !asJSON:
	case len(paths) > 1:
		printed = printJSON(cmd.OutOrStdout(), reports)
	case len(reports) == 1:
		printed = printJSON(cmd.OutOrStdout(), reports[0])
	}
	return cmp.Or(printed, err)
}

func printJSON(w io.Writer, value any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(value)
}
