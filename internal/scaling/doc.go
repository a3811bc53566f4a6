// Package scaling tests the run time of hirgen itself. It lowers, proves and renders pipelines of thousands of
// operations, without building or running them. It has tests only. It is a separate package because it measures the
// processor time of its process.
package scaling
