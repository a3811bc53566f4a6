// Package scaling tests the run time of hirgen itself. It lowers, proves and renders pipelines of thousands of
// operations, and specs with axes of up to 2^46 elements. It does not build or run the programs. It has tests only. It is
// a separate package because it measures the processor time of its process.
package scaling
