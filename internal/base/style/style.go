// Package style has what the pages that hirgen writes share: the style, with colours that colour-blind people can tell
// apart, for light and dark.
package style

import (
	_ "embed"
	"html/template"
)

// Text is the common part of each page's style.
//
//go:embed common.css
var Text string

// Common returns Text for a template.
func Common() template.CSS { return template.CSS(Text) } //nolint:gosec // it is constant
