package hook

import (
	"cmp"
	"strconv"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Code is a numeric code; Given is false if the delivery omits it, which is not the same as zero.
type Code struct {
	Value int64
	Given bool
}

// Flag is a boolean that may be omitted.
type Flag int8

// The flags.
const (
	NotGiven Flag = iota
	No
	Yes
)

// Stamp is a time in the webhooks' form: seconds since 1970, which may be negative or absurd, and 0 to 999,999,999
// nanoseconds. Given is false if there is no readable one.
type Stamp struct {
	Seconds int64
	Nanos   int32
	Given   bool
}

const (
	firstSecond = -62135596800 // year 1
	lastSecond  = 253402300799 // year 9999
)

// Time returns the time in UTC; ok is false without one, or outside the years 1 to 9999, which our formats cannot
// represent.
func (s Stamp) Time() (t time.Time, ok bool) {
	if !s.Given || s.Seconds < firstSecond || s.Seconds > lastSecond {
		return time.Time{}, false
	}
	return time.Unix(s.Seconds, int64(s.Nanos)).UTC(), true
}

// Compare orders times; one that is not given comes first.
func (s Stamp) Compare(o Stamp) int {
	if s.Given != o.Given {
		if o.Given {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(s.Seconds, o.Seconds), cmp.Compare(s.Nanos, o.Nanos))
}

// String is RFC 3339, or the seconds and nanoseconds of a time out of range.
func (s Stamp) String() string {
	if t, ok := s.Time(); ok {
		return t.Format(time.RFC3339Nano)
	}
	if !s.Given {
		return ""
	}
	return strconv.FormatInt(s.Seconds, 10) + " s " + strconv.FormatInt(int64(s.Nanos), 10) + " ns"
}

// StampOf converts t to a Stamp.
func StampOf(t time.Time) Stamp {
	return Stamp{Seconds: t.Unix(), Nanos: int32(t.Nanosecond()), Given: true}
}

// Event is a change of one object, in one form for all types. An index applies it by UpdatedAt, never backwards; for
// equal times, or without UpdatedAt (accounts and counterparties have none), only a read of the object shows the
// newest state.
type Event struct {
	Object   Object
	ObjectID untrusted.Text // opid, cuid of a client, suid of an account or counterparty
	CUID     untrusted.Text // the customer it belongs to; may be empty

	CreatedAt Stamp
	UpdatedAt Stamp

	Status        Code // of operation, client or account
	OperationType Code
	PaymentType   Code
	IsVisible     Flag

	SourceAmount         api.Amount
	DestinationAmount    api.Amount
	CommissionAmount     api.Amount
	CurrentBalanceAmount api.Amount // of an operation's source account, or an account's balance

	Issues []Issue // parts that must not be shown as numbers or times
}
