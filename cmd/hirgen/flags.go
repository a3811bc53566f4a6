package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hirgen/hirgen/internal/expr"
)

// A strictValue is the value of a flag that is given once at most, unless it is a list, and if it is a number,
// as a decimal one: a second value would replace the first without a word, and what Go
// reads as a number (0x1p3, 010, 1_0, nan) is read by nothing else here.
type strictValue struct {
	pflag.Value
	given bool
	first string
}

var fractionForm = regexp.MustCompile(`^-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$`)

// Set takes the value from the command line.
func (v *strictValue) Set(text string) error {
	_, repeatable := v.Value.(pflag.SliceValue)
	switch kind := v.Type(); {
	case v.given && kind == "bool":
		return errors.New("the flag is given twice")
	case v.given && !repeatable:
		return fmt.Errorf("the flag is given twice, first with %s", v.first)
	case kind == "float64" && !fractionForm.MatchString(text):
		return errors.New("not a decimal number")
	case strings.HasPrefix(kind, "int"):
		for number := range strings.SplitSeq(text, ",") {
			if _, err := expr.Integer(number); err != nil {
				return err
			}
		}
	}
	v.given, v.first = true, text
	return v.Value.Set(text)
}

// beStrict makes the flags of cmd and of its commands strict, but for repeatable texts.
func beStrict(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, repeatable := f.Value.(pflag.SliceValue); !repeatable || f.Value.Type() == "intSlice" {
			f.Value = &strictValue{Value: f.Value}
		}
	})
	for _, child := range cmd.Commands() {
		beStrict(child)
	}
}
