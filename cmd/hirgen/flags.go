package main

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A strictValue is the value of a flag that is given once at most, and if it is a number,
// as a decimal one: a second value would replace the first without a word, and what Go
// reads as a number (0x1p3, 1_0, nan) is read by nothing else here.
type strictValue struct {
	pflag.Value
	given bool
	first string
}

var (
	integerForm  = regexp.MustCompile(`^[+-]?\d+$`)
	fractionForm = regexp.MustCompile(`^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$`)
)

// Set takes the value from the command line.
func (v *strictValue) Set(text string) error {
	switch kind := v.Type(); {
	case v.given && kind == "bool":
		return errors.New("the flag is given twice")
	case v.given:
		return fmt.Errorf("the flag is given twice, first with %s", v.first)
	case (kind == "int" || kind == "int64") && !integerForm.MatchString(text):
		return errors.New("not a decimal integer")
	case kind == "float64" && !fractionForm.MatchString(text):
		return errors.New("not a decimal number")
	}
	v.given, v.first = true, text
	return v.Value.Set(text)
}

// beStrict makes the flags of cmd and of its commands strict, but for repeatable ones.
func beStrict(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, repeatable := f.Value.(pflag.SliceValue); !repeatable {
			f.Value = &strictValue{Value: f.Value}
		}
	})
	for _, child := range cmd.Commands() {
		beStrict(child)
	}
}
