// Package release tests the released artifacts: the module, as "go install" fetches it, the program for other systems, and
// the wheel. .goreleaser.yaml defines the contents of the packages.
package release
