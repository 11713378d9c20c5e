package events

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/receiver"
)

// filter is what is shown: what the inbox chooses by, and words that each stand
// somewhere in the event.
type filter struct {
	query receiver.Filter
	words words
}

func (f filter) match(s receiver.Stored) bool { return f.query.Match(s) && f.words.match(s) }

// words are in lower case.
type words []string

func (w words) match(s receiver.Stored) bool {
	if len(w) == 0 {
		return true
	}
	said := strings.ToLower(strings.Join([]string{s.Key, s.Type.String(), string(s.Object), string(s.ObjectID), string(s.CUID), string(s.Status), string(s.Reason), s.Detail, string(s.Source)}, "\n"))
	body := bytes.ToLower(s.Raw)
	for _, one := range w {
		if !strings.Contains(said, one) && !bytes.Contains(body, []byte(one)) {
			return false
		}
	}
	return true
}

// problem is a mistake in a filter: where, and what to write instead.
type problem struct {
	column int // from 0, in bytes
	what   string
}

// fields are the names before a colon, for completion.
var fields = []string{"type:", "status:", "id:", "hook:", "since:"}

// parse reads a filter: type:operation status:conflict id:7f3a hook:1b4e since:2h
// and free words, each of which narrows.
func parse(s string, now time.Time) (filter, *problem) {
	var f filter
	for at := 0; at < len(s); {
		if s[at] == ' ' {
			at++
			continue
		}
		word, _, _ := strings.Cut(s[at:], " ")
		name, value, named := strings.Cut(word, ":")
		if !named {
			f.words = append(f.words, strings.ToLower(word))
		} else if what := f.set(strings.ToLower(name), value, now); what != "" {
			if slices.Contains(fields, strings.ToLower(name)+":") { // the value is wrong, not the name
				at += len(name) + 1
			}
			return filter{}, &problem{at, what}
		}
		at += len(word)
	}
	return f, nil
}

func (f *filter) set(name, value string, now time.Time) string {
	if value == "" {
		return "Something must stand behind the colon."
	}
	switch name {
	case "type":
		for t, short := range shortTypes {
			if strings.EqualFold(short, value) {
				f.query.Types = append(f.query.Types, t)
				return ""
			}
		}
		t, ok := hook.ParseType(value)
		if !ok {
			return "type is operation, account, client, counterparty, requisite or 1 to 5."
		}
		f.query.Types = append(f.query.Types, t)
	case "status":
		st := receiver.Status(strings.ToLower(value))
		switch st {
		case receiver.Verified, receiver.Unverified, receiver.Quarantined, receiver.Conflict:
			f.query.Statuses = append(f.query.Statuses, st)
		default:
			return "status is verified, unverified, quarantined or conflict."
		}
	case "id":
		f.query.ObjectID = value
	case "hook":
		f.query.HookID = value
	case "since":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return "since is a time back: 30m or 2h."
		}
		f.query.Since = now.Add(-d)
	default:
		return "There is no such field; type, status, id, hook and since are."
	}
	return ""
}
