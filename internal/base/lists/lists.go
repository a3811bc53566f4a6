// Package lists has functions on slices that package slices lacks.
package lists

import (
	"slices"
	"strings"
)

// Map returns the results of f for all elements, in order.
func Map[T, R any](list []T, f func(T) R) []R {
	out := make([]R, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

// Join prints elements with commas between them: "x, y".
func Join[T any](list []T, text func(T) string) string { return strings.Join(Map(list, text), ", ") }

// Product returns the product of number(v) for all elements v, or 1 for an empty list. It does not detect overflow.
func Product[T any](list []T, number func(T) int64) int64 {
	product := int64(1)
	for _, v := range list {
		product *= number(v)
	}
	return product
}

// Numbers returns 0, 1, ... n-1.
func Numbers(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

// Without returns a copy of a list without the element at an index.
func Without[S ~[]E, E any](list S, at int) S { return slices.Delete(slices.Clone(list), at, at+1) }

// Except returns a copy of a list without the elements for which drop returns true.
func Except[S ~[]E, E any](list S, drop func(E) bool) S {
	return slices.DeleteFunc(slices.Clone(list), drop)
}

// Mark adds the elements of a list to a set.
func Mark[E comparable](set map[E]bool, list []E) {
	for _, v := range list {
		set[v] = true
	}
}

// AnyIn reports whether a set has an element of a list.
func AnyIn[E comparable](list []E, set map[E]bool) bool {
	return slices.ContainsFunc(list, func(v E) bool { return set[v] })
}

// AllIn reports whether a set has all elements of a list.
func AllIn[E comparable](list []E, set map[E]bool) bool {
	return !slices.ContainsFunc(list, func(v E) bool { return !set[v] })
}
