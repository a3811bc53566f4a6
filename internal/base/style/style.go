// Package style has the CSS that the pages of hirgen bench, simulate and timeline share. Its colours suit colour-blind
// people, and light and dark themes.
package style

import (
	_ "embed"
	"html/template"
)

// Text is the part of the style that these pages share.
//
//go:embed common.css
var Text string

// Common returns Text as CSS that a template prints without escapes.
func Common() template.CSS { return template.CSS(Text) } //nolint:gosec // it is constant
