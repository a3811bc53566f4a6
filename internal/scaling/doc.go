// Package scaling holds the tests of how long hirgen itself takes: pipelines of thousands of operations are lowered,
// proved and rendered, and nothing is built or run. It has tests and nothing else. It is a package of its own since
// it measures the processor time of its process, and since go test then runs it beside the end-to-end tests.
package scaling
