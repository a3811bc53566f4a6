package main

import (
	"encoding/json"
	"io"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/prove"
	"github.com/hirgen/hirgen/prove/values"
)

// proofs prints the proofs of a command: text as soon as the programs of a file are checked, JSON
// when all files are.
type proofs struct {
	out     io.Writer
	asJSON  bool
	heading string // line above the next report, where there are several files
	reports []*prove.Report
}

// prove proves programs, one after the other, and prints the reports as text unless asJSON is set.
// It returns an error with exit code 8 if a program is not proved.
func (p *proofs) prove(programs []*calls.Program, load values.Load) error {
	proved := true
	var reports []*prove.Report
	for _, program := range programs {
		report, err := prove.Against(program, load)
		if err != nil {
			return err
		}
		reports = append(reports, report)
		proved = proved && report.Proved()
	}
	if !p.asJSON {
		if _, err := io.WriteString(p.out, p.heading); err != nil {
			return err
		}
		for _, report := range reports {
			report.Text(p.out)
		}
	}
	p.reports = append(p.reports, reports...)
	if !proved {
		return &exitError{code: exitNotProved}
	}
	return nil
}

// end prints the proofs as JSON if asJSON is set and there are any.
func (p *proofs) end() error {
	if !p.asJSON || len(p.reports) == 0 {
		return nil
	}
	encoder := json.NewEncoder(p.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(p.reports)
}
