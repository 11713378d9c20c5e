package operations

import (
	"opdeck/internal/format"
)

// unread reports whether nothing at all was read into the index yet.
func (s heading) unread() bool {
	return s.Loaded && !s.fresh.Complete && s.rows.total == 0 && s.fresh.Rows == 0
}

// readSoFar says how much of the list the index holds; "" if it holds all of it. Sums and exports then lack the rest.
func (s heading) readSoFar() string {
	f := s.fresh
	if !s.Loaded || f.Complete || f.Rows == 0 {
		return ""
	}
	out := format.Plural(int(f.Rows), "operation", "operations")
	if f.Rows < f.Total {
		out = format.Count(int(f.Rows)) + " of " + format.Plural(int(f.Total), "operation", "operations")
	}
	out += " read so far"
	if p := s.progress(); p != "" {
		out += "; " + p
	}
	return out
}

// progress is the line about the background sync; "" for none.
func (s heading) progress() string {
	if s.cfg.Progress == nil {
		return ""
	}
	p, _ := s.cfg.Progress()
	return p
}

// onlyRead warns that a result covers only what was read so far; "" if the index holds everything.
func (s heading) onlyRead() string {
	if n := s.readSoFar(); n != "" {
		return "Not complete: " + n + "."
	}
	return ""
}
