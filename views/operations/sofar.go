package operations

import "strings"

// unread reports whether nothing at all was read into the index yet.
func (s heading) unread() bool {
	return s.Loaded && !s.fresh.Complete && s.rows.total == 0 && s.fresh.Rows == 0
}

// partly reports whether the index has rows, but not all of the list. Sums and exports then lack the rest.
func (s heading) partly() bool { return s.Loaded && !s.fresh.Complete && s.fresh.Rows > 0 }

// whole says how much of the list the index holds, and how old that is.
func (s heading) whole() string { return s.fresh.Says(s.env.Now(), s.env.Zone()) }

// readSoFar says how much of the list the index holds; "" if it holds all of it.
func (s heading) readSoFar() string {
	if !s.partly() {
		return ""
	}
	out := s.whole()
	if p := s.progress(); p != "" {
		out += "; " + strings.TrimSuffix(p, ".")
	}
	return out
}

// progress is what holds the background sync up, or how long it still takes; "" for neither.
func (s heading) progress() string {
	if s.cfg.Progress == nil {
		return ""
	}
	p, _ := s.cfg.Progress()
	return p
}
