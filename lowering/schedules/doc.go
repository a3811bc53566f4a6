// Package schedules decides the schedule of a program. It sets unset fields by measurements or predictions, and checks
// the fields that the spec sets against the communications of the program. It also decides whether to apply derived
// placements.
package schedules
