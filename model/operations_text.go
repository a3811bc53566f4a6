package model

import (
	"fmt"
	"io"
	"strings"

	"github.com/hirgen/hirgen/model/schedule"
)

// DescribeOps prints operations for people: how to write each, and its result.
func DescribeOps(w io.Writer, ops []OpInfo) error {
	var b strings.Builder
	for i, o := range ops {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n    %s\n", strings.Join(o.Forms, "\n"), schedule.Plain(o.Doc))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
