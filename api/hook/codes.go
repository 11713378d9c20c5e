package hook

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Field is an operation's field that is a number in webhooks and a word in REST.
type Field string

// The fields.
const (
	FieldType        Field = "type"
	FieldStatus      Field = "status"
	FieldPaymentType Field = "payment_type"
)

// Said is a word that the service says over REST where a webhook of the same operation and the same updatedAt has a
// code.
type Said struct {
	Field Field
	Code  int64
	Word  untrusted.Text
	OPID  untrusted.Text // the operation
}

// Join compares a read of an operation with the events of the same operation. It says nothing unless all events with
// the updatedAt of the read, to its precision, have the same codes.
func Join(events []Event, op api.Operation) []Said {
	var event *Event
	for i, e := range events {
		if e.ObjectID != op.OPID || !e.UpdatedAt.Given || !sameTime(e.UpdatedAt, op.UpdatedAt) {
			continue
		}
		if event != nil && (e.OperationType != event.OperationType || e.Status != event.Status ||
			e.PaymentType != event.PaymentType) {
			return nil
		}
		event = &events[i]
	}
	if event == nil {
		return nil
	}
	var out []Said
	for _, f := range []struct {
		field Field
		code  Code
		word  untrusted.Text
	}{{FieldType, event.OperationType, op.Type}, {FieldStatus, event.Status, op.Status},
		{FieldPaymentType, event.PaymentType, op.PaymentType}} {
		if f.code.Given && isWord(f.word) {
			out = append(out, Said{f.field, f.code.Value, f.word, op.OPID})
		}
	}
	return out
}

// isWord accepts enumeration names only.
func isWord(w untrusted.Text) bool {
	return w != "" && len(w) <= 64 && !strings.ContainsFunc(string(w), func(c rune) bool {
		return (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-'
	})
}

// sameTime reports whether an event's time is that of a read, to the precision of the read.
func sameTime(event Stamp, read api.Time) bool {
	if read.IsZero() {
		return false
	}
	unit := int32(precision(string(read.Raw)))
	return event.Seconds == read.Unix() && event.Nanos/unit == int32(read.Nanosecond())/unit
}

// precision returns the nanoseconds of the last digit of an ISO 8601 moment.
func precision(raw string) int {
	if raw == "" { // made by opdeck
		return 1
	}
	unit := int(time.Second)
	if _, fraction, ok := strings.Cut(raw, "."); ok {
		for i := 0; i < len(fraction) && i < 9 && fraction[i] >= '0' && fraction[i] <= '9'; i++ {
			unit /= 10
		}
	}
	return unit
}

// Meanings are all words that were said of codes, ordered by field and code.
type Meanings []Said

// Of returns what was said of a code; more than one word means that its meaning is not known.
func (ms Meanings) Of(f Field, code int64) (all []Said) {
	for _, s := range ms {
		if s.Field == f && s.Code == code {
			all = append(all, s)
		}
	}
	return all
}

// Word returns the one word of a code; "" if its meaning is not known.
func (ms Meanings) Word(f Field, code int64) untrusted.Text {
	if all := ms.Of(f, code); len(all) == 1 {
		return all[0].Word
	}
	return ""
}

// Text is a code for people: "3 WITHDRAW"; if its meaning is not known, "3 ?" or "3 ? NEW or PENDING".
func (ms Meanings) Text(f Field, c Code) string {
	if !c.Given {
		return c.String()
	}
	n := strconv.FormatInt(c.Value, 10)
	switch all := ms.Of(f, c.Value); len(all) {
	case 0:
		return n + " ?"
	case 1:
		return n + " " + all[0].Word.Line(64)
	default:
		var words []string
		for _, s := range all {
			words = append(words, s.Word.Line(64))
		}
		slices.Sort(words)
		return n + " ? " + strings.Join(words, " or ")
	}
}
