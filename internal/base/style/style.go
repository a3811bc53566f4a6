// Package style has the common CSS of the pages that hirgen writes. Its colours suit colour-blind people, and light and
// dark themes.
package style

import (
	_ "embed"
	"html/template"
)

// Text is the common part of each page's style.
//
//go:embed common.css
var Text string

// Common returns Text as CSS that a template prints without escapes.
func Common() template.CSS { return template.CSS(Text) } //nolint:gosec // it is constant
