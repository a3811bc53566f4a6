package model

import (
	"slices"
	"testing"

	"github.com/hirgen/hirgen/model/domain"
)

// TestScheduleFieldsAreInOneTable: what the loader can set is what the table lists.
func TestScheduleFieldsAreInOneTable(t *testing.T) {
	var listed, read []string
	for _, f := range domain.ScheduleFields {
		listed = append(listed, f.Name)
	}
	for _, c := range choices {
		read = append(read, c.name)
		if f, ok := domain.ScheduleFieldNamed(c.name); !ok || f.IsNumber() {
			t.Errorf("%s has no values in the table", c.name)
		}
	}
	for _, c := range counts {
		read = append(read, c.name)
		if f := c.field(); !f.IsNumber() || f.High == 0 {
			t.Errorf("%s has no range in the table", c.name)
		}
	}
	slices.Sort(listed)
	slices.Sort(read)
	if !slices.Equal(listed, read) {
		t.Errorf("the table lists %v, and the loader reads %v", listed, read)
	}
}
