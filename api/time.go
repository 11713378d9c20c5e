package api

import (
	"encoding/json"
	"strconv"
	"time"

	"opdeck/api/untrusted"
)

// Time is a moment as the service writes it: ISO 8601, in UTC where no zone is
// given; seconds or milliseconds since 1970 are read as well. What cannot be read
// as one stays in Raw, and Time is zero.
type Time struct {
	time.Time
	Raw untrusted.Text
}

// UnmarshalJSON never fails: an odd moment must not hide the record around it.
func (t *Time) UnmarshalJSON(b []byte) error {
	var n Number
	_ = n.UnmarshalJSON(b)
	*t = timeOf(n)
	return nil
}

// timeOf reads a moment from its text.
func timeOf(n Number) Time {
	t := Time{Raw: untrusted.Text(n)}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02"} {
		if at, err := time.Parse(layout, string(n)); err == nil {
			t.Time = at.UTC()
			return t
		}
	}
	switch since, err := strconv.ParseInt(string(n), 10, 64); { // the number of digits says which: 2001 to 2286
	case err != nil:
	case len(n) == 10:
		t.Time = time.Unix(since, 0).UTC()
	case len(n) == 13:
		t.Time = time.UnixMilli(since).UTC()
	}
	return t
}

// MarshalJSON writes the moment as it came, or in RFC 3339 if it was made here.
func (t Time) MarshalJSON() ([]byte, error) {
	return json.Marshal(string(t.text()))
}

// text is the moment as it came, or in RFC 3339 if it was made here.
func (t Time) text() untrusted.Text {
	if t.Raw != "" || t.IsZero() {
		return t.Raw
	}
	return untrusted.Text(t.UTC().Format(time.RFC3339Nano))
}

// At makes a Time.
func At(t time.Time) Time { return Time{Time: t.UTC()} }
