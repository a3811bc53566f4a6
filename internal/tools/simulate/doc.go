// Package simulate predicts the performance of a program on other clusters. For each number of ranks it gives the time
// of a call, its computation and its exposed communication, as a table, JSON and a page of curves.
//
// It marks each prediction as based on measurements with as many ranks, or not.
package simulate
