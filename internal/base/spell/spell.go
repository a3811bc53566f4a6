// Package spell finds the name that a user most likely meant.
package spell

import "strings"

// Nearest returns the candidate closest to word by edit distance, the first among equals. A swap of two adjacent letters
// counts as one edit, and upper and lower case are equal. It returns false if no candidate is close. A candidate is close
// if the distance is at most a third of the bytes of word, or 1 for 2 to 5 bytes, and neither has more than 100 bytes.
func Nearest(word string, candidates []string) (string, bool) {
	if word == "" || len(word) > 100 {
		return "", false
	}
	best, bestDistance := "", max(min(len(word), 2)-1, len(word)/3)+1
	for _, c := range candidates {
		if len(c) > 100 {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best, best != ""
}

// distance returns the optimal string alignment distance of two words, in bytes.
func distance(a, b string) int {
	before, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		current[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			current[j+1] = min(previous[j]+cost, previous[j+1]+1, current[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				current[j+1] = min(current[j+1], before[j-1]+1)
			}
		}
		before, previous, current = previous, current, before
	}
	return previous[len(b)]
}
