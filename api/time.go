package api

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// Time is a moment in the service's form: ISO 8601, UTC unless a zone is given. Of one that came in another form Raw
// keeps the JSON or the text, and Time is zero.
type Time struct {
	time.Time
	Raw untrusted.Text
}

// Unread reports whether a moment came that is not known, since it has another form.
func (t Time) Unread() bool { return t.IsZero() && t.Raw != "" }

// UnmarshalJSON never fails: a malformed moment must not hide its record.
func (t *Time) UnmarshalJSON(b []byte) error {
	*t = timeIn(ParseJSON(b))
	return nil
}

// twice implements single.
func (t *Time) twice(v jsontree.Value) { *t = Time{Raw: untrusted.Text(v.Raw())} }

// timeIn reads a moment; null and a missing one are none.
func timeIn(v jsontree.Value) Time {
	if v.Kind() == jsontree.String || v.Null() {
		return timeOf(v.Text())
	}
	return Time{Raw: untrusted.Text(v.Raw())}
}

// timeOf parses a moment.
func timeOf(s string) Time {
	t := Time{Raw: untrusted.Text(s)}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02"} {
		if at, err := time.Parse(layout, s); err == nil {
			t.Time = at.UTC()
			break
		}
	}
	return t
}

// MarshalJSON writes the moment as it was received, or in RFC 3339 if it was made here.
func (t Time) MarshalJSON() ([]byte, error) {
	return json.Marshal(string(t.text()))
}

// text is the moment as it was received, or in RFC 3339 if it was made here.
func (t Time) text() untrusted.Text {
	if t.Raw != "" || t.IsZero() {
		return t.Raw
	}
	return untrusted.Text(t.UTC().Format(time.RFC3339Nano))
}

// At returns t as a Time in UTC.
func At(t time.Time) Time { return Time{Time: t.UTC()} }

// serviceClock estimates the service's time from the Date header of its newest answer. The two clocks may differ, so
// times in answers are compared with this clock only.
type serviceClock struct {
	mu   sync.Mutex
	date time.Time // guarded by mu; zero: no answer had one
	at   time.Time // guarded by mu: when that answer arrived, by our clock
}

func (s *serviceClock) saw(h http.Header, at time.Time) {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.date, s.at = date.UTC(), at
}

// now is the service's time at our time at, up to a second behind; zero: not known.
func (s *serviceClock) now(at time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.date.IsZero() {
		return time.Time{}
	}
	return s.date.Add(at.Sub(s.at))
}
