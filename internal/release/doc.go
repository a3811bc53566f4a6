// Package release holds tests of what leaves the repository as a release: the module, as "go install" fetches it, and the
// program for systems other than this one. What packages are made of is in .goreleaser.yaml.
package release
