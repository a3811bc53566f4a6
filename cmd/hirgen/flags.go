package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hirgen/hirgen/internal/base/expr"
)

// A strictValue refuses a second value of a flag that is no list, which would silently replace the first. It also
// refuses numbers that are not decimal (0x1p3, 010, 1_0, nan), which Go reads and specs do not.
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

// beStrict makes the flags of cmd and of its commands strict, except repeatable flags for text.
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
