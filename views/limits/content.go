package limits

import (
	"fmt"

	"opdeck/ui"
)

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	switch {
	case s.err != "":
		return ui.Content{Lines: []string{s.err}}
	case s.usage == nil:
		return ui.Content{Lines: []string{"The budgets are not read yet."}}
	}
	var c ui.Content
	for _, u := range s.usage {
		line := fmt.Sprintf("%s: %d of %d used in the last minute, room for %d", u.Class, u.Used, u.Recommended, u.Room)
		if u.Waiting > 0 {
			line += fmt.Sprintf(", %d waiting", u.Waiting)
		}
		if u.Throttled > 0 {
			line += fmt.Sprintf(", %d answers 429", u.Throttled)
		}
		c.Lines = append(c.Lines, line+".")
	}
	c.Lines = append(c.Lines, s.sentences()...)
	return c
}
