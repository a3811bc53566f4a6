// Package release tests the released artifacts: the module, as "go install" fetches it, and the program for other
// systems. .goreleaser.yaml defines the contents of the packages.
package release
